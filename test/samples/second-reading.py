"""What other tools read in a sample file, as JSON lines: python3 second-reading.py <format> <file> [<delimiter>|<depth>]

Python's own csv, json and xml.etree, bcftools for VCF, and plain splitting for GFF3 and GTF.
"""
import bz2, csv, gzip, io, json, subprocess, sys
import xml.etree.ElementTree as ET


def text(path):
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    if raw[:3] == b"BZh":
        raw = bz2.decompress(raw)
    return raw.decode("utf-8-sig", "replace")


def table(path, delimiter):
    csv.field_size_limit(1 << 30)
    return (row for row in csv.reader(io.StringIO(text(path), newline=""), delimiter=delimiter) if row)


def lines(path):
    return (json.loads(line) for line in text(path).splitlines() if line.strip())


def features(path):
    for line in text(path).splitlines():
        if line.startswith(("##FASTA", ">")):
            return
        if line.strip() and not line.startswith("#"):
            yield line.split("\t")


def variants(path):
    form = "%CHROM\\t%POS\\t%ID\\t%REF\\t%ALT\\t%QUAL\\t%FILTER\\n"
    made = subprocess.run(["bcftools", "query", "-f", form, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if made.returncode != 0:
        raise SystemExit("bcftools refuses the file")
    return (line.split("\t") for line in made.stdout.decode().splitlines())


def positions(path):
    return iter(json.loads(text(path))["positions"])


def element(node):
    inner = [("@" + name, value) for name, value in node.attrib.items()]
    words = node.text or ""
    for child in node:
        inner.append((child.tag.rpartition("}")[2], element(child)))
        words += child.tail or ""
    words = words.strip(" \t\r\n")
    if not inner:
        return words or None
    if words:
        inner.append(("text", words))
    found = {}
    for name, value in inner:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def elements(path, depth):
    nodes = [ET.fromstring(text(path).encode("utf-8"))]
    for _ in range(int(depth)):
        nodes = [child for node in nodes for child in node]
    for node in nodes:
        value = element(node)
        yield value if isinstance(value, dict) else {} if value is None else {"text": value}


readings = {"csv": table, "json": lines, "gff": features, "vcf": variants, "nirvana": positions, "xml": elements}
for record in readings[sys.argv[1]](*sys.argv[2:]):
    print(json.dumps(record))
