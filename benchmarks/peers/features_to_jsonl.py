"""What a user would do instead of importing GFF3 or GTF: csv and json of the standard library.

python3 features_to_jsonl.py gff3|gtf <input> <output>
"""

import csv
import json
import sys
from urllib.parse import unquote


def gff3_attributes(text):
    attributes = {}
    for part in text.split(";"):
        if part:
            key, _, value = part.partition("=")
            values = [unquote(one) if "%" in one else one for one in value.split(",")]
            attributes[key] = values if len(values) > 1 else values[0]
    return attributes


def gtf_attributes(text):
    attributes = {}
    for part in text.split(";"):
        part = part.strip()
        if part:
            key, _, value = part.partition(" ")
            value = value.strip('"')
            earlier_value = attributes.get(key)
            if earlier_value is None:
                attributes[key] = value
            elif isinstance(earlier_value, list):
                earlier_value.append(value)
            else:
                attributes[key] = [earlier_value, value]
    return attributes


def main(dialect, source, target):
    attributes = gff3_attributes if dialect == "gff3" else gtf_attributes
    count = 0
    with open(source, encoding="utf-8", newline="") as lines, open(target, "w", encoding="utf-8") as out:
        dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if not row or row[0].startswith("#"):
                continue
            seqid, origin, kind, start, end, score, strand, phase, attributes_text = row
            record = {
                "seqid": seqid,
                "source": None if origin == "." else origin,
                "type": kind,
                "start": int(start),
                "end": int(end),
                "score": None if score == "." else float(score),
                "strand": None if strand == "." else strand,
                "phase": None if phase == "." else int(phase),
                "attributes": attributes(attributes_text),
            }
            out.write(dumps(record))
            out.write("\n")
            count += 1
    print(count)


main(*sys.argv[1:])
