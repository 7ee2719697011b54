"""
Creates what the tests of the clients expect in a public vault: tables of genes and of variants, and a file of genes.

The records are invented; only the values that the tests ask for have a meaning. The paths come from the tests
themselves, so that none of their text is repeated here.
"""
import gzip
import json
import os
import random
import sys
import tempfile

import case

#: Number of genes; number of variants of the gene whose variants the tests count, and the symbol of this gene.
GENE_COUNT, COUNTED_VARIANTS, COUNTED_GENE = 1000, 367, 'MAN2B1'
#: Number of fields of a gene, besides what the server adds to records.
FIELD_COUNT = 53
#: Identifiers of OMIM that the tests look for.
OMIM = ['OMIM:123631', 'OMIM:123670', 'OMIM:123690', 'OMIM:306250']


def gene_records():
    """Yields records of genes, each with every field."""
    for number in range(GENE_COUNT):
        record = {
            'entrez_id': str(number + 1),
            'hgnc_id': 'HGNC:%d' % {0: 5, 1: 37133, 2: 24086}.get(number, 100000 + number),
            'omim_id': [OMIM[number] if number < len(OMIM) else 'OMIM:%d' % (600000 + number)],
            'gene_symbol': 'BRCA2' if number == 0 else 'MADE%d' % number,
            'status': 'Approved' if number % 7 else 'Entry Withdrawn',
            'agr': 'HGNC:%d' % number,
            'mamit_trnadb': number if 0 < number < 25 else None,
        }
        for more in range(len(record), FIELD_COUNT):
            record['field_%d' % more] = '%d of %d' % (more, number)
        yield record


def variant_records():
    """Yields records of variants: those of the gene whose variants the tests count, and those of other genes."""
    generator = random.Random(1)
    bases = 'ACGT'
    for number in range(2000):
        gene = COUNTED_GENE if number < COUNTED_VARIANTS else generator.choice(['BRCA1', 'BRCA2', 'TP53', 'CFTR'])
        start = 12000000 + 10 * number
        allele = bases[number % 4]
        chromosome = '19' if number < COUNTED_VARIANTS else generator.choice(['11', '13', '17'])
        if number == COUNTED_VARIANTS:
            chromosome, start, allele = '13', 113803460, 'T'
        yield {
            'gene': gene,
            'variant': 'GRCH38-%s-%d-%d-%s' % (chromosome, start, start, allele),
            'clinical_significance': [generator.choice(['Pathogenic', 'Benign', 'Likely benign'])],
            'info': {'ORIGIN': generator.randrange(5), 'ALLELEID': 15000 + number},
            'genomic_coordinates': {
                'build': 'GRCh38',
                'chromosome': chromosome,
                'start': start,
                'stop': start,
            },
            'allele': allele,
        }


def create_dataset(client, path, records, fields):
    """Creates a dataset at a path, with its folders and with records, unless it has records already."""
    dataset = client.Dataset.get_or_create_by_full_path(path, fields=fields)
    if dataset.documents_count:
        return
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, 'records.json.gz')
        write(name, records)
        file = client.Object.upload_file(name, '/', path.rsplit(':', 1)[0])
        client.DatasetImport.create(dataset_id=dataset.id, object_id=file.id)
        dataset.activity(follow=True, sleep_seconds=0.2)
        file.delete(force=True)


def write(name, records):
    with gzip.open(name, 'wt') as lines:
        for record in records:
            lines.write(json.dumps(record) + '\n')


def main():
    paths = case.paths_of_own_tests()
    client = case.client()
    vault = client.Vault.get_or_create_by_full_path(paths['genes'].rsplit(':', 1)[0])
    vault.is_public = True
    vault.save()
    text = {'data_type': 'string'}
    create_dataset(client, paths['genes'], gene_records(), [
        dict(text, name='gene_symbol', entity_type='gene'),
        dict(text, name='omim_id', is_list=True),
        dict(name='mamit_trnadb', data_type='integer'),
    ])
    create_dataset(client, paths['variants'], variant_records(), [
        dict(text, name='gene', entity_type='gene'),
        dict(text, name='variant', entity_type='variant'),
        dict(text, name='clinical_significance', is_list=True),
    ])
    folder, name = paths['file'].rsplit('/', 1)
    with tempfile.TemporaryDirectory() as local:
        write(os.path.join(local, name), ({k: r[k] for k in list(r)[:-1]} for r in gene_records()))
        client.Object.upload_file(os.path.join(local, name), folder.split(':', 2)[2], folder.rsplit(':', 1)[0])


if __name__ == '__main__':
    sys.exit(main())
