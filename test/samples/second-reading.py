"""Prints the records that other tools read from a sample file, as JSON lines.

Usage: python3 second-reading.py <format> <file> [<delimiter>|<depth>]

Python's own csv, json and xml.etree, bcftools for VCF, and plain splitting for GFF3 and GTF.
"""
import bz2, csv, gzip, io, json, subprocess, sys
import xml.etree.ElementTree as ET


def read_text(path):
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    if raw[:3] == b"BZh":
        raw = bz2.decompress(raw)
    return raw.decode("utf-8-sig", "replace")


def read_table(path, delimiter):
    csv.field_size_limit(1 << 30)
    return (row for row in csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter) if row)


def read_json_lines(path):
    return (json.loads(line) for line in read_text(path).splitlines() if line.strip())


def read_features(path):
    for line in read_text(path).splitlines():
        if line.startswith(("##FASTA", ">")):
            return
        if line.strip() and not line.startswith("#"):
            yield line.split("\t")


def read_variants(path):
    line_format = "%CHROM\\t%POS\\t%ID\\t%REF\\t%ALT\\t%QUAL\\t%FILTER\\n"
    process = subprocess.run(["bcftools", "query", "-f", line_format, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if process.returncode != 0:
        raise SystemExit("bcftools refuses the file")
    return (line.split("\t") for line in process.stdout.decode().splitlines())


def read_positions(path):
    return iter(json.loads(read_text(path))["positions"])


def convert_element(node):
    members = [("@" + name, value) for name, value in node.attrib.items()]
    words = node.text or ""
    for child in node:
        members.append((child.tag.rpartition("}")[2], convert_element(child)))
        words += child.tail or ""
    words = words.strip(" \t\r\n")
    if not members:
        return words or None
    if words:
        members.append(("text", words))
    values_by_name = {}
    for name, value in members:
        values_by_name.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in values_by_name.items()}


def read_elements(path, depth):
    nodes = [ET.fromstring(read_text(path).encode("utf-8"))]
    for _ in range(int(depth)):
        nodes = [child for node in nodes for child in node]
    for node in nodes:
        value = convert_element(node)
        yield value if isinstance(value, dict) else {} if value is None else {"text": value}


READ_FUNCTIONS = {
    "csv": read_table,
    "json": read_json_lines,
    "gff": read_features,
    "vcf": read_variants,
    "nirvana": read_positions,
    "xml": read_elements,
}
for record in READ_FUNCTIONS[sys.argv[1]](*sys.argv[2:]):
    print(json.dumps(record))
