"""Queries: filters, facets, pages, batches, joins, saved queries, exports, beacons, annotations and search."""
import contextlib
import csv
import gzip
import io
import json
import os

import openpyxl

from case import Case, without_reserved_fields

VARIANTS = [
    {'gene': gene, 'variant': 'GRCH37-%s-%d-%d-%s' % (chromosome, start, stop, allele),
     'clinical_significance': [significance], 'info': {'ORIGIN': origin, 'ALLELEID': 15000 + origin},
     'genomic_coordinates': {'build': 'GRCh37', 'chromosome': chromosome, 'start': start, 'stop': stop},
     'reviewed': '2012-0%d-15' % origin, 'summary': text}
    for gene, chromosome, start, stop, allele, significance, origin, text in (
        ('BRCA2', '13', 32890599, 32890599, 'C', 'Pathogenic', 1, 'seen in families with diabetes'),
        ('BRCA2', '13', 32890650, 32890660, 'A', 'Benign', 2, 'seen once'),
        ('BRCA1', '17', 41196312, 41196312, 'T', 'Pathogenic', 3, 'seen in a diabetes study'),
        ('TP53', '17', 7571720, 7571725, 'G', 'Uncertain', 4, 'not seen'),
        (None, '11', 18313399, 18313403, 'G', 'Benign', 5, 'no gene here'))]
FIELDS = [
    {'name': 'gene', 'data_type': 'string', 'entity_type': 'gene'},
    {'name': 'variant', 'data_type': 'string', 'entity_type': 'variant'},
    {'name': 'summary', 'data_type': 'text'},
    {'name': 'reviewed', 'data_type': 'date'},
    {'name': 'clinical_significance', 'data_type': 'string', 'is_list': True},
]


class Variants(Case):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.redirect_stdout(io.StringIO()):
            cls.dataset = cls('create_dataset').create_dataset('variants', VARIANTS, fields=FIELDS)
        cls.Filter = cls.api.Filter

    def origins(self, query):
        """Returns the `info.ORIGIN` of the records that a query finds, sorted; it identifies them."""
        return sorted(r['info']['ORIGIN'] for r in query)


class Filters(Variants):

    def test_every_action(self):
        for filters, origins in (
                ({'gene': 'BRCA1'}, [3]), ({'gene__in': ['BRCA1', 'BRCA2']}, [1, 2, 3]),
                ({'gene__regexp': 'BRCA[12]'}, [1, 2, 3]), ({'gene__prefix': 'BRCA'}, [1, 2, 3]),
                ({'gene': None}, [5]), ({'summary__contains': 'diabetes'}, [1, 3]),
                ({'info.ORIGIN': 4}, [4]), ({'info.ORIGIN__in': [1, 2, 3]}, [1, 2, 3]),
                ({'info.ORIGIN__range': [1, 3]}, [1, 2, 3]), ({'info.ORIGIN__gt': 4}, [5]),
                ({'info.ORIGIN__gte': 4}, [4, 5]), ({'info.ORIGIN__lt': 2}, [1]), ({'info.ORIGIN__lte': 2}, [1, 2]),
                ({'clinical_significance': 'Pathogenic'}, [1, 3]), ({'gene__exact': 'TP53'}, [4]),
                ({'reviewed__range': ['2012-01-01', '2012-02-28']}, [1, 2])):
            self.assertEqual(self.origins(self.dataset.query().filter(**filters)), origins, filters)

    def test_combinations(self):
        F = self.Filter
        q = self.dataset.query()
        for condition, origins in (
                (F(gene='BRCA2') & F(clinical_significance='Pathogenic'), [1]),
                (F(gene='BRCA1') | F(gene='BRCA2'), [1, 2, 3]), (~F(gene='BRCA2'), [3, 4, 5]),
                (F(gene='BRCA2') & ~F(clinical_significance='Benign') | F(gene='TP53'), [1, 4])):
            self.assertEqual(self.origins(q.filter(condition)), origins, condition)
        self.assertEqual(self.origins(q.filter(gene='BRCA2').filter(**{'info.ORIGIN': 2})), [2])
        nested = [{'and': [{'not': ['summary__contains', 'diabetes']},
                           {'or': [['gene', 'BRCA2'], ['reviewed__range', ['2012-05-01', '2012-12-31']]]}]}]
        self.assertEqual(self.origins(self.dataset.query(filters=nested)), [2, 5])

    def test_positions_and_ranges(self):
        q = self.dataset.query()
        for query, origins in (
                (q.position('chr11', 18313400), [5]), (q.position(chromosome='11', position=18313400), [5]),
                (q.position(chromosome='13', position=32890599, exact=True), [1]),
                (q.position(chromosome='11', position=18313400, exact=True), []),
                (q.range('chr13', 32890590, 32890655), [1, 2]),
                (q.range(chromosome='11', start=18313399, stop=18313403, exact=True), [5]),
                (q.range(chromosome='11', start=18313399, stop=18313400, exact=True), [])):
            self.assertEqual(self.origins(query), origins)

    def test_entities(self):
        query = self.dataset.query
        self.assertEqual(self.origins(query(entities=[['gene', 'BRCA2']])), [1, 2])
        self.assertEqual(self.origins(query(entities=[('variant', 'GRCH37-13-32890599-32890599-C')])), [1])
        self.assertEqual(self.origins(query(entities=[['gene', 'MTOR'], ['gene', 'TP53']])), [4])

    def test_query_strings(self):
        for text, origins in (
                ('gene:TP53', [4]), ('gene:"BRCA1"', [3]), ('gene:(TP53 OR BRCA1)', [3, 4]), ('_missing_:gene', [5]),
                ('_exists_:gene', [1, 2, 3, 4]), ('gene:BRCA*', [1, 2, 3]),
                ('reviewed:[2012-01-01 TO 2012-03-31]', [1, 2, 3]), ('info.ORIGIN:[4 TO *]', [4, 5]),
                ('info.ORIGIN:>=4', [4, 5]), ('info.ORIGIN:(>=2 AND <4)', [2, 3]), ('info.ORIGIN:(+>=2 +<4)', [2, 3]),
                ('(families OR study) AND diabetes', [1, 3]), ('gene:(TP53 OR BRCA1) summary:(diabetes)^2', [1, 3, 4]),
                ('diabetes', [1, 3])):
            self.assertEqual(self.origins(self.dataset.query(query=text)), origins, text)

    def test_refusals(self):
        self.assertIn('no_such', self.expect_refusal(400, self.dataset.query(fields=['no_such']).execute))
        self.assertIn('no_such', self.expect_refusal(400, self.dataset.query().filter(no_such__gt=1).execute))


class Results(Variants):

    def test_fields_ordering_and_limits(self):
        query = self.dataset.query
        self.assertEqual([list(r) for r in query(fields=['gene'], limit=1)], [['gene']])
        self.assertNotIn('gene', query(exclude_fields=['gene'], limit=1)[0])
        self.assertEqual([f.name for f in query(fields=['gene']).fields()], ['gene'])
        genes = [r['gene'] for r in query(ordering='gene').filter(~self.Filter(gene=None))]
        self.assertEqual(genes, ['BRCA1', 'BRCA2', 'BRCA2', 'TP53'])
        self.assertEqual([r['info']['ORIGIN'] for r in query(ordering=['-gene', '-info.ORIGIN'])][:3], [4, 2, 1])
        self.assertEqual(len(query(limit=2)), 2)

    def test_pages_slices_and_counts(self):
        q = self.dataset.query(page_size=2)
        self.assertEqual([len(q), q.count(), q.total, len(list(q))], [5, 5, 5, 5])
        self.assertEqual(q[3]['info']['ORIGIN'], 4)
        self.assertEqual(self.origins(q[1:3]), [2, 3])
        self.assertEqual(len(list(self.dataset.query(limit=3, page_size=2))), 3)
        self.assertIn('more results', repr(q))
        self.assertIn('0 results', repr(self.dataset.query().filter(gene='none')))

    def test_facets(self):
        q = self.dataset.query()
        self.assertEqual(q.facets('gene')['gene'][0], ['BRCA2', 2])
        self.assertEqual(q.facets(gene={'facet_type': 'count'})['gene'], 3)
        self.assertEqual(len(q.facets(gene={'limit': 1})['gene']), 1)
        stats = q.facets(**{'info.ALLELEID': {'facet_type': 'stats', 'extended': True}})['info.ALLELEID']
        self.assertEqual([stats['min'], stats['max'], stats['count']], [15001, 15005, 5])
        self.assertIn('std_deviation', stats)
        histogram = q.filter(**{'genomic_coordinates.chromosome': 17}).facets(
            **{'genomic_coordinates.start': {'facet_type': 'histogram', 'interval': 1000000}})
        self.assertEqual(sum(count for _, count in histogram['genomic_coordinates.start']), 2)
        nested = q.facets(gene={'limit': 100, 'facets': {'clinical_significance': {'limit': 10}}})
        for gene, count, inner in nested['gene']:
            self.assertEqual(sum(n for _, n in inner['clinical_significance']), count)
        self.assertEqual(len(q.facets('gene', 'variant')), 2)

    def test_lookup(self):
        first, second = self.dataset.query(limit=2)
        self.assertEqual(self.dataset.lookup(first['_id'], second['_id']), [first, second])

    def test_a_batch(self):
        queries = [self.dataset.query(limit=1), self.dataset.query().filter(gene='BRCA2'),
                   self.dataset.query(fields=['no_such'])]
        one, two, three = self.api.BatchQuery(queries).execute()
        self.assertEqual([len(one['results']), two['total'], three['status_code']], [1, 2, 400])

    def test_computed_fields(self):
        fields = [{'name': 'lower', 'data_type': 'string', 'expression': "record.gene.lower() if record.gene else None"}]
        self.assertEqual(self.dataset.query(target_fields=fields).filter(gene='TP53')[0]['lower'], 'tp53')
        self.assertEqual(next(self.dataset.query().filter(gene='TP53').annotate(fields))['lower'], 'tp53')

    def test_joins(self):
        genes = self.create_dataset('genes', [{'gene': 'BRCA2', 'role': 'repair'}, {'gene': 'BRCA2', 'role': 'suppressor'},
                                      {'gene': 'TP53', 'role': 'guardian'}])
        joined = self.dataset.query(fields=['gene', 'variant']).join(genes.query(fields=['gene', 'role']), key='gene')
        pairs = sorted((str(r['gene']), str(r['role'])) for r in joined)
        self.assertEqual(pairs, [('BRCA1', 'None'), ('BRCA2', 'repair'), ('BRCA2', 'repair'), ('BRCA2', 'suppressor'),
                                 ('BRCA2', 'suppressor'), ('None', 'None'), ('TP53', 'guardian')])
        prefixed = self.dataset.query(fields=['gene']).join(
            genes.query(fields=['gene', 'role']), key='gene', key_b='gene', prefix='its_', always_prefix=True)
        self.assertIn('its_role', next(iter(prefixed)))

    def test_a_join_into_a_dataset(self):
        roles = self.create_dataset('roles', [{'gene': 'BRCA2', 'role': 'repair'}, {'gene': 'BRCA2', 'role': 'suppressor'}])
        target = self.create_dataset('join-output')
        self.dataset.query(fields=['gene', 'variant']).join(roles.query(fields=['gene', 'role']), key='gene').migrate(target)
        self.assertEqual(target.query().count(), 7)

    def test_saved_queries(self):
        saved = self.api.SavedQuery.create(
            name='Interesting genes', description='made by a test', dataset=self.dataset.id,
            params={'entities': [['gene', 'MTOR'], ['gene', 'BRCA2']]})
        again = self.api.SavedQuery.retrieve(saved.id)
        self.assertEqual(self.origins(again.query(self.dataset.id)), [1, 2])
        self.assertEqual(self.origins(self.dataset.query(**again.params)), [1, 2])
        self.assertIn(saved.id, [s.id for s in self.api.SavedQuery.all(dataset=self.dataset.id)])
        self.assertIn(saved.id, [s.id for s in self.dataset.saved_queries()])
        self.assertIn('Interesting genes', str(self.api.SavedQuery.all()))
        again.description = 'changed'
        again.save()
        saved.delete(force=True)


class Exports(Variants):

    def test_every_format(self):
        for format in ('json', 'csv', 'tsv', 'excel', 'csv-gz'):
            export = self.dataset.export(format=format, follow=True)
            self.assertEqual(export.status, 'completed', format)
            path = export.download(os.path.join(self.local, ''))
            if format.startswith(('csv', 'tsv')):
                with open(path, 'rb') as file:
                    content = file.read()
                text = (gzip.decompress(content) if content[:2] == b'\x1f\x8b' else content).decode()
                records = list(csv.DictReader(text.splitlines(), delimiter='\t' if format == 'tsv' else ','))
            elif format == 'excel':
                records = list(openpyxl.load_workbook(path, read_only=True).worksheets[0].iter_rows(min_row=2))
            else:
                with gzip.open(path, 'rt') as file:
                    records = [json.loads(line) for line in file]
            self.assertEqual(len(records), 5, format)

    def test_a_query_to_a_named_file(self):
        query = self.dataset.query(limit=2, fields=['variant', 'info.ORIGIN', 'gene']).filter(**{'info.ORIGIN__gte': 3})
        export = query.export(format='json', follow=True)
        with gzip.open(export.download(path=os.path.join(self.local, 'mine.json.gz')), 'rt') as file:
            self.assertEqual([json.loads(line)['info']['ORIGIN'] for line in file], [3, 4])
        self.assertEqual(export.dataset.id, self.dataset.id)
        self.assertIn(str(export.id), str(self.api.DatasetExport.all()))
        export.delete(force=True)

    def test_into_a_vault(self):
        for format, name in (('json', 'out.json.gz'), ('csv', 'out.csv')):
            self.dataset.export(format=format, target_full_path=self.path(name))
            self.assertEqual(self.api.Object.get_by_full_path(self.path(name)).object_type, 'file')

    def test_computed_fields(self):
        fields = [{'name': 'twice', 'data_type': 'integer', 'expression': 'record.info.ORIGIN * 2'}]
        export = self.dataset.query(target_fields=fields).export(format='json')
        with gzip.open(export.download(os.path.join(self.local, 'computed.json.gz')), 'rt') as file:
            self.assertEqual(sorted(json.loads(line)['twice'] for line in file), [2, 4, 6, 8, 10])


class Beacons(Variants):

    def test_of_a_dataset(self):
        answer = self.dataset.beacon(chromosome='13', coordinate=32890599, allele='C')
        self.assertEqual([answer['exist'], answer['total']], [True, 1])
        self.assertFalse(self.dataset.beacon(chromosome='13', coordinate=1, allele='C')['exist'])

    def test_of_sets(self):
        beacons = self.api.BeaconSet.create(title='A set', description='made by a test', is_shared=True)
        beacon = self.api.Beacon.create(
            beacon_set_id=beacons.id, vault_object_id=self.dataset.id, title='A beacon', description='made by a test')
        self.assertEqual(beacon.query('BRCA2', entity_type='gene')['status'], 'found')
        self.assertEqual(beacon.query('MTOR', entity_type='gene')['status'], 'not_found')
        self.assertEqual([b['id'] for b in beacons.query('BRCA2', entity_type='gene')['beacons']], [beacon.id])
        self.assertIn('A beacon', str(self.api.Beacon.all()))
        self.assertIn('A set', str(self.api.BeaconSet.all()))
        beacon.delete(force=True)
        beacons.delete(force=True)

    def test_global(self):
        self.assertEqual(self.dataset.enable_global_beacon()['dataset_id'], self.dataset.id)
        self.assertIn(self.dataset.get_global_beacon_status()['status'], ('indexing', 'completed'))
        search = self.api.GlobalSearch(entities=[['gene', 'BRCA2']])
        self.assertIn(self.dataset.id, [o.id for o in search])
        self.dataset.disable_global_beacon()


class Annotations(Variants):

    def test_annotate(self):
        fields = [
            {'name': 'count', 'data_type': 'integer',
             'expression': 'dataset_count("%s", entities=[("gene", record.gene)])' % self.dataset.id},
            {'name': 'evaluated', 'data_type': 'date', 'expression': 'now()'}]
        records = list(self.api.Annotator(fields=fields).annotate([{'gene': 'BRCA2'}, {'gene': 'MTOR'}] * 60))
        self.assertEqual([r['count'] for r in records[:2]], [2, 0])
        self.assertEqual(len(records), 120)
        self.assertTrue(records[0]['evaluated'].startswith('20'))


class Search(Variants):

    def test_of_everything(self):
        search = self.api.GlobalSearch
        self.assertGreater(len(search()), 0)
        self.assertTrue(all(o.object_type == 'vault' for o in search().filter(type__in=['vault'])))
        self.assertGreater(search().filter(created_at__range=['2020-01-01', '2099-12-31']).count(), 0)
        ids = [o.id for o in search(query='"%s"' % self.folder[2:])]
        self.assertIn(self.dataset.id, ids)
        self.assertIn(self.dataset.id, [o.id for o in search(self.folder[2:], limit=200)])
        self.assertGreater(len(search().vaults()), 0)
        self.assertEqual(search(entities=[['sample', 'none']], vault_scope='any').subjects_count(), 0)


class Tasks(Variants):

    def test_lists_and_follow(self):
        tasks = self.api.Task.all(target_object_id=self.dataset.id)
        self.assertGreater(tasks.total, 0)
        task = self.api.Task.retrieve(tasks.data[0].id)
        self.assertEqual({t.child_object.class_name() for t in tasks}, {'DatasetImport', 'DatasetCommit'})
        task.follow()
        self.assertIn(str(task.id), str(tasks))
        self.assertEqual(self.dataset.activity(follow=True), [])
