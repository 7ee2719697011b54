"""
What the tests of the clients expect to find in a public vault: tables of genes and of variants, and a file of genes.

The records are made up; only what the tests ask for is meant to be there. The paths come from the tests themselves,
so that none of their text is repeated here.
"""
import gzip
import json
import os
import random
import sys
import tempfile

import case

#: Genes of the tables, and how many variants the one has that the tests count.
GENES, COUNTED, COUNTED_GENE = 1000, 367, 'MAN2B1'
#: Number of fields of a gene, besides what the server adds to records.
FIELDS = 53
#: Identifiers of OMIM that the tests look for.
OMIM = ['OMIM:123631', 'OMIM:123670', 'OMIM:123690', 'OMIM:306250']


def genes():
    """Records of genes, each with every field."""
    for number in range(GENES):
        record = {
            'entrez_id': str(number + 1),
            'hgnc_id': 'HGNC:%d' % {0: 5, 1: 37133, 2: 24086}.get(number, 100000 + number),
            'omim_id': [OMIM[number] if number < len(OMIM) else 'OMIM:%d' % (600000 + number)],
            'gene_symbol': 'BRCA2' if number == 0 else 'MADE%d' % number,
            'status': 'Approved' if number % 7 else 'Entry Withdrawn',
            'agr': 'HGNC:%d' % number,
            'mamit_trnadb': number if 0 < number < 25 else None,
        }
        for more in range(len(record), FIELDS):
            record['field_%d' % more] = '%d of %d' % (more, number)
        yield record


def variants():
    """Records of variants: those of the gene that the tests count, and of others."""
    chance = random.Random(1)
    bases = 'ACGT'
    for number in range(2000):
        gene = COUNTED_GENE if number < COUNTED else chance.choice(['BRCA1', 'BRCA2', 'TP53', 'CFTR'])
        start = 12000000 + 10 * number
        allele = bases[number % 4]
        chromosome = '19' if number < COUNTED else chance.choice(['11', '13', '17'])
        if number == COUNTED:
            chromosome, start, allele = '13', 113803460, 'T'
        yield {
            'gene': gene,
            'variant': 'GRCH38-%s-%d-%d-%s' % (chromosome, start, start, allele),
            'clinical_significance': [chance.choice(['Pathogenic', 'Benign', 'Likely benign'])],
            'info': {'ORIGIN': chance.randrange(5), 'ALLELEID': 15000 + number},
            'genomic_coordinates': {
                'build': 'GRCh38',
                'chromosome': chromosome,
                'start': start,
                'stop': start,
            },
            'allele': allele,
        }


def dataset(client, path, records, fields):
    """A dataset at a path, whose folders are made as well, with records."""
    made = client.Dataset.get_or_create_by_full_path(path, fields=fields)
    if made.documents_count:
        return
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, 'records.json.gz')
        write(name, records)
        uploaded = client.Object.upload_file(name, '/', path.rsplit(':', 1)[0])
        client.DatasetImport.create(dataset_id=made.id, object_id=uploaded.id)
        made.activity(follow=True, sleep_seconds=0.2)
        uploaded.delete(force=True)


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
    dataset(client, paths['genes'], genes(), [
        dict(text, name='gene_symbol', entity_type='gene'),
        dict(text, name='omim_id', is_list=True),
        dict(name='mamit_trnadb', data_type='integer'),
    ])
    dataset(client, paths['variants'], variants(), [
        dict(text, name='gene', entity_type='gene'),
        dict(text, name='variant', entity_type='variant'),
        dict(text, name='clinical_significance', is_list=True),
    ])
    folder, name = paths['file'].rsplit('/', 1)
    with tempfile.TemporaryDirectory() as local:
        write(os.path.join(local, name), ({k: r[k] for k in list(r)[:-1]} for r in genes()))
        client.Object.upload_file(os.path.join(local, name), folder.split(':', 2)[2], folder.rsplit(':', 1)[0])


if __name__ == '__main__':
    sys.exit(main())
