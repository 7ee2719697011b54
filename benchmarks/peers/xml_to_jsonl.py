"""What a user would do instead of importing XML: iterparse and json of the standard library.

python3 xml_to_jsonl.py <input> <output>
"""

import json
import sys
from xml.etree.ElementTree import iterparse


def convert_element(element):
    """Returns an element as an object: attributes under @name, children by name, text under text."""
    record = {"@" + key: text for key, text in element.attrib.items()}
    for child in element:
        child_value = convert_element(child)
        earlier_value = record.get(child.tag)
        if earlier_value is None and child.tag not in record:
            record[child.tag] = child_value
        elif isinstance(earlier_value, list):
            earlier_value.append(child_value)
        else:
            record[child.tag] = [earlier_value, child_value]
    text = (element.text or "").strip()
    if not record:
        return text or None
    if text:
        record["text"] = text
    return record


def main(source, target):
    count = 0
    depth = 0
    root = None
    with open(target, "w", encoding="utf-8") as out:
        dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
        for event, element in iterparse(source, events=("start", "end")):
            if event == "start":
                root = element if root is None else root
                depth += 1
                continue
            depth -= 1
            if depth == 1:
                out.write(dumps(convert_element(element)))
                out.write("\n")
                root.clear()
                count += 1
    print(count)


main(*sys.argv[1:])
