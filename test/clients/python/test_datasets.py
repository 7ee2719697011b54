"""Datasets, fields, imports in every documented form, commits, migrations, archives and templates."""
import gzip
import http.server
import json
import os
import threading

from case import Case, ServerError, without_reserved_fields

PEOPLE = [
    {'name': 'Ada', 'birth_year': '1815'},
    {'name': 'Grace', 'birth_year': '1906'},
    {'name': 'Rosalind', 'birth_year': '1920'},
]
VCF = """##fileformat=VCFv4.2
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
20\t14370\trs6054257\tG\tA\t29\tPASS\tAF=0.5
20\t17330\t.\tT\tA\t3\tq10\tAF=0.017
"""


class Datasets(Case):

    def test_make_find_change_and_remove(self):
        dataset = self.create_dataset('made', description='one', tags=['a'], metadata={'k': 'v'}, capacity='small')
        again = self.api.Dataset.get_by_full_path(self.path('made'))
        self.assertEqual(again.id, dataset.id)
        self.assertEqual(again.vault_object.full_path.split(':', 2)[2], self.path('made')[1:])
        dataset.description = 'two'
        dataset.save()
        self.assertEqual(self.api.Dataset.retrieve(dataset.id).description, 'two')
        self.assertIn('Path', str(self.api.Dataset.all()))
        dataset.delete(force=True)
        with self.assertRaises(ServerError):
            self.api.Dataset.retrieve(dataset.id)

    def test_made_in_a_vault(self):
        dataset = self.api.Vault.get_personal_vault().create_dataset('in-a-vault', path=self.folder[1:])
        self.assertEqual(self.api.Dataset.get_by_full_path(self.path('in-a-vault')).id, dataset.id)

    def test_a_dataset_is_also_an_object(self):
        self.create_dataset('both', PEOPLE)
        as_object = self.api.Object.get_by_full_path(self.path('both'))
        self.assertEqual(as_object.dataset_id, as_object.id)
        self.assertEqual(len(as_object.query()), 3)
        self.assertEqual(sorted(f.name for f in as_object.fields()), ['_commit', 'birth_year', 'name'])


class Fields(Case):

    def test_make_change_and_look_at(self):
        dataset = self.create_dataset('fields', fields=[
            {'name': 'text', 'description': 'Just a text', 'data_type': 'string', 'is_list': False,
             'is_hidden': False, 'ordering': 0},
            {'name': 'gene', 'description': 'HUGO gene symbol', 'data_type': 'string', 'entity_type': 'gene'},
        ])
        self.api.DatasetField.create(dataset_id=dataset.id, name='more', data_type='string')
        self.assertIn('more', [f.name for f in dataset.fields()])
        field = dataset.fields('text')
        field.description = 'changed'
        field.url_template = 'https://example.org/{value}'
        field.save()
        self.assertEqual(dataset.fields('text').description, 'changed')
        gene = dataset.fields('gene')
        self.assertEqual(gene.entity_type, 'gene')
        for entity_type in ('variant', None):
            gene.entity_type = entity_type
            gene.save()
            self.assertEqual(dataset.fields('gene').entity_type, entity_type)
        self.assertIn('Data Type', str(dataset.fields()))

    def test_facets_of_a_field(self):
        dataset = self.create_dataset('facets', PEOPLE)
        self.assertEqual(sorted(dataset.fields('name').facets()['facets']),
                         [['Ada', 1], ['Grace', 1], ['Rosalind', 1]])

    def test_every_data_type(self):
        values = {'boolean': True, 'date': '2017-03-29T14:52:01', 'double': 0.1, 'float': 1.5, 'integer': 7,
                  'long': 2 ** 53 + 1, 'object': {'a': 'b'}, 'string': 'x', 'text': 'long text', 'blob': 'not searched'}
        dataset = self.create_dataset('types', fields=[{'name': 'a_' + t, 'data_type': t} for t in values])
        self.run_import(dataset, records=[{'a_' + t: v for t, v in values.items()}])
        [record] = without_reserved_fields(dataset.query())
        self.assertEqual(record.pop('a_date')[:19], values['date'])
        self.assertEqual(record, {'a_' + t: v for t, v in values.items() if t != 'date'})


class Imports(Case):

    def test_records_by_either_name(self):
        for key in ('records', 'data_records'):
            dataset = self.create_dataset(key)
            self.run_import(dataset, **{key: PEOPLE})
            self.assertEqual(sorted(r['name'] for r in dataset.query()), ['Ada', 'Grace', 'Rosalind'])

    def test_an_uploaded_file(self):
        file = self.upload('people.jsonl', ''.join(json.dumps(r) + '\n' for r in PEOPLE))
        dataset = self.create_dataset('of-a-file')
        task = self.api.DatasetImport.create(dataset_id=dataset.id, object_id=file.id, commit_mode='append')
        dataset.activity(follow=True)
        self.assertEqual(self.api.DatasetImport.retrieve(task.id).status, 'completed')
        self.assertEqual(without_reserved_fields(dataset.query()), PEOPLE)
        self.assertEqual(dataset.activity(), [])

    def test_a_local_file_and_a_manifest(self):
        dataset = self.create_dataset('of-a-manifest')
        dataset.import_file(self.write('variants.vcf.gz', gzip.compress(VCF.encode()))).follow()
        self.assertEqual(dataset.query().count(), 2)
        manifest = self.api.Manifest()
        manifest.add(self.write('more.vcf', VCF.replace('14370', '14371')))
        self.run_import(dataset, manifest=manifest.manifest)
        self.assertEqual(dataset.query().count(), 4)

    def test_a_manifest_of_addresses(self):
        lines = ''.join(json.dumps(r) + '\n' for r in PEOPLE).encode()

        class Files(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header('Content-Length', str(len(lines)))
                self.end_headers()
                self.wfile.write(lines)

            do_HEAD = do_GET

            def log_message(self, *arguments):
                pass

        port = int(os.environ['STRANDLAKE_FILES_PORT'])
        files = http.server.ThreadingHTTPServer(('127.0.0.1', port), Files)
        self.addCleanup(files.server_close)
        self.addCleanup(files.shutdown)
        threading.Thread(target=files.serve_forever, daemon=True).start()
        manifest = self.api.Manifest()
        manifest.add_url('http://127.0.0.1:%d/people.json' % port)
        dataset = self.create_dataset('of-addresses')
        self.run_import(dataset, manifest=manifest.manifest)
        self.assertEqual(without_reserved_fields(dataset.query()), PEOPLE)

    def test_parameters_of_the_reader(self):
        file = self.upload('piped.txt', '# a\n# b\nname|n\nAda|1\n')
        dataset = self.create_dataset('piped')
        self.run_import(dataset, object_id=file.id,
                      reader_params={'reader': 'csv', 'delimiter': '|', 'skiprows': [0, 1]})
        self.assertEqual(without_reserved_fields(dataset.query()), [{'name': 'Ada', 'n': 1}])

    def test_computed_fields(self):
        dataset = self.create_dataset('computed')
        self.run_import(dataset, data_records=[{'name': 'Ada Lovelace'}], target_fields=[
            {'name': 'first', 'data_type': 'string', 'expression': "record.name.split(' ')[0]"},
            {'name': 'last', 'data_type': 'string', 'expression': "record.name.split(' ')[-1]"}])
        self.assertEqual(without_reserved_fields(dataset.query(exclude_fields=['_id', '_commit'])),
                         [{'name': 'Ada Lovelace', 'first': 'Ada', 'last': 'Lovelace'}])

    def test_transient_fields(self):
        header, *lines = ['CHROM POS ID REF ALT', '20 14370 rs6054257 G A', '20 17330 . T A']
        dataset = self.create_dataset('transient')
        self.run_import(dataset, records=[{'row': line} for line in lines], target_fields=[
            {'name': 'header', 'is_transient': True, 'ordering': 1, 'data_type': 'string', 'is_list': True,
             'expression': header.split()},
            {'name': 'row', 'is_transient': True, 'ordering': 1, 'data_type': 'object',
             'expression': 'dict(zip(record.header, value.split()))'},
            {'name': 'variant', 'ordering': 2, 'data_type': 'string', 'entity_type': 'variant',
             'expression': "'-'.join(['GRCh37', record.row['CHROM'], record.row['POS'], record.row['POS'], record.row['ALT']])"},
            {'name': 'rsid', 'data_type': 'string', 'ordering': 2,
             'expression': "get(record, 'row.ID') if get(record, 'row.ID') != '.' else None"}])
        records = without_reserved_fields(dataset.query(exclude_fields=['_id', '_commit']))
        self.assertEqual([r.get('rsid') for r in records], ['rs6054257', None])
        self.assertEqual([r['variant'].upper() for r in records], ['GRCH37-20-14370-14370-A', 'GRCH37-20-17330-17330-A'])

    def test_validation_and_entities(self):
        dataset = self.create_dataset('checked', fields=[{'name': 'n', 'data_type': 'integer'}])
        task = self.api.DatasetImport.create(
            dataset_id=dataset.id, records=[{'n': 'x'}], validation_params={'raise_on_errors': True})
        task.follow()
        self.assertEqual(task.status, 'failed')
        self.run_import(dataset, records=[{'n': 'x'}, {'n': 1}], validation_params={'disable': True})
        genes = [{'gene': g} for g in ('BRCA1', 'BRCA2', 'TP53')]
        for name, params, entity_type in (('detected', {'entity_types': ['gene', 'literature']}, 'gene'),
                                    ('undetected', {'disable': True}, None)):
            dataset = self.create_dataset(name)
            self.run_import(dataset, records=genes, entity_params=params)
            self.assertEqual(dataset.fields('gene').entity_type, entity_type)

    def test_cancel_and_remove(self):
        dataset = self.create_dataset('canceled')
        task = self.api.DatasetImport.create(dataset_id=dataset.id, records=PEOPLE)
        task.follow()
        self.assertIn(str(task.id), str(dataset.imports()))
        self.assertIn(str(task.id), str(self.api.DatasetImport.all(dataset_id=dataset.id)))


class CommitModes(Case):

    def test_overwrite_upsert_and_delete(self):
        for mode, is_kept in (('overwrite', False), ('upsert', True)):
            dataset = self.create_dataset(mode, PEOPLE)
            record = dataset.query(fields=['_id', 'name']).filter(name='Ada')[0]
            record['name'] = 'Ada Lovelace'
            record['awards'] = ['a', 'b']
            self.run_import(dataset, records=[record], commit_mode=mode)
            [changed] = dataset.query().filter(_id=record['_id'])
            self.assertEqual([changed['name'], changed['awards'], changed['birth_year']],
                             ['Ada Lovelace', ['a', 'b'], '1815' if is_kept else None])
            self.assertEqual(dataset.query().count(), 3)
        records = dataset.query(fields=['_id']).filter(name='Grace')
        self.run_import(dataset, records=list(records), commit_mode='delete')
        self.assertEqual(sorted(r['name'] for r in dataset.query(fields=['name'])), ['Ada Lovelace', 'Rosalind'])

    def test_commits_and_rollback(self):
        dataset = self.create_dataset('rolled-back', PEOPLE)
        self.run_import(dataset, records=[{'name': 'Extra'}])
        commits = list(dataset.commits())
        self.assertEqual([c.status for c in commits], ['completed', 'completed'])
        self.assertIn(str(commits[0].id), str(dataset.commits()))
        latest = self.api.DatasetCommit.retrieve(commits[0].id)
        self.assertEqual(latest.parent_object.class_name(), 'DatasetImport')
        self.assertEqual(latest.dataset.id, dataset.id)
        latest.follow()
        self.api.post('/v2/dataset_commits/%s/rollback' % latest.id, {})
        dataset.activity(follow=True)
        self.assertEqual(dataset.query().count(), 3)


class Migrations(Case):

    def test_copies_of_a_query_and_of_a_dataset(self):
        source = self.create_dataset('source', PEOPLE)
        target = self.create_dataset('target')
        migration = source.query().filter(name='Ada').migrate(target=target)
        self.assertEqual(migration.status, 'completed')
        self.assertEqual(without_reserved_fields(target.query()), PEOPLE[:1])
        source.migrate(target=target.id, source_params={'fields': ['name'], 'limit': 2})
        self.assertEqual(target.query().count(), 3)
        self.assertIn(str(migration.id), str(self.api.DatasetMigration.all()))
        lite = self.create_dataset('lite')
        source.query(exclude_fields=['birth_year']).migrate(target=lite, commit_mode='upsert')
        self.assertNotIn('birth_year', [f.name for f in lite.fields()])

    def test_parallel_copies(self):
        source = self.create_dataset('parallel-source', PEOPLE)
        target = self.create_dataset('parallel-target')
        migrations = source.migrate(target=target, parallel=True, source_params={'limit': 2})
        self.assertEqual(len(migrations), 1)
        [migration] = migrations
        self.assertEqual([migration['class_name'], migration.status, migration.documents_count], ['DatasetMigration', 'completed', 2])
        self.assertEqual(without_reserved_fields(target.query()), PEOPLE[:2])

    def test_changes_in_place(self):
        dataset = self.create_dataset('in-place', PEOPLE)
        dataset.migrate(target=dataset, commit_mode='upsert', target_fields=[
            {'name': 'copy', 'expression': 'record.name', 'description': 'a copy', 'data_type': 'string'}])
        dataset.migrate(target=dataset, commit_mode='upsert', target_fields=[
            {'name': 'copy', 'expression': 'value.upper()', 'data_type': 'string'}])
        self.assertEqual(sorted(r['copy'] for r in dataset.query()), ['ADA', 'GRACE', 'ROSALIND'])

    def test_deletion_by_a_query(self):
        dataset = self.create_dataset('deletion', [{'name': n} for n in ('Alice', 'Carol', 'Chuck', 'Dan')])
        dataset.query().filter(name__prefix='C').migrate(dataset, commit_mode='delete')
        self.assertEqual([r['name'] for r in dataset.query()], ['Alice', 'Dan'])


class Archives(Case):

    def test_archive_restore_and_storage_class(self):
        self.create_dataset('archived', PEOPLE)
        dataset = self.api.Object.get_by_full_path(self.path('archived'))
        dataset.archive(follow=True)
        again = self.api.Object.retrieve(dataset.id)
        self.assertEqual([again.availability, again.storage_class], ['archived', 'Archive'])
        self.expect_refusal(400, dataset.query().execute)
        again.restore(follow=True)
        again = self.api.Object.retrieve(dataset.id)
        self.assertEqual(again.availability, 'available')
        self.assertEqual(len(again.query()), 3)
        again.storage_class = 'Essential'
        again.save()
        self.assertEqual(self.api.Object.retrieve(dataset.id).storage_class, 'Essential')
        self.assertTrue(list(self.api.DatasetSnapshotTask.all()))
        self.assertTrue(list(self.api.DatasetRestoreTask.all()))


class Templates(Case):
    FIELDS = [
        {'name': 'sample', 'depends_on': ['subject'], 'entity_type': 'sample', 'data_type': 'string', 'ordering': 1,
         'expression': 'record.subject'},
        {'name': 'study', 'title': 'STUDY', 'ordering': 2, 'data_type': 'string',
         'expression': "None if value == 'UNASSIGNED' else value"},
        {'name': 'passing', 'data_type': 'string', 'is_transient': True, 'expression': '1'},
    ]

    def create_template(self):
        return self.api.DatasetTemplate.create(
            name='A template', version='1.2.0', description='made by a test', template_type='dataset',
            is_public=False, entity_params={'disable': True}, fields=self.FIELDS)

    def test_make_change_and_remove(self):
        template = self.create_template()
        template.tags = ['import']
        template.save()
        again = self.api.DatasetTemplate.retrieve(template.id)
        self.assertEqual([list(again.tags), again.version], [['import'], '1.2.0'])
        self.assertIn(template.id, [t['id'] for t in self.api.DatasetTemplate.all(template_type='dataset')])
        self.assertIn('A template', str(self.api.DatasetTemplate.all()))
        again.fields = [dict(f) for f in again.fields] + [{'name': 'extra', 'expression': '1', 'data_type': 'integer'}]
        again.save()
        self.assertIn('extra', [f['name'] for f in self.api.DatasetTemplate.retrieve(template.id).fields])
        again.delete(force=True)

    def test_datasets_imports_and_records(self):
        template = self.create_template()
        dataset = self.create_dataset('of-a-template', fields=template.fields)
        self.assertEqual(sorted(f.name for f in dataset.fields() if f.name[0] != '_'), ['sample', 'study'])
        records = [{'subject': 's1', 'study': 'UNASSIGNED'}]
        imported_dataset = self.create_dataset('imported-by-a-template')
        self.run_import(imported_dataset, records=records, **template.import_params)
        [record] = without_reserved_fields(imported_dataset.query())
        self.assertEqual([record['sample'], record.get('study')], ['s1', None])
        plain = self.create_dataset('plain', records)
        for annotated in (plain.query().annotate(template.fields), plain.query(target_fields=template.fields),
                          self.api.Annotator(fields=template.fields).annotate(plain.query())):
            [record] = annotated
            self.assertEqual([record['sample'], record.get('study')], ['s1', None])

    def test_the_template_of_a_dataset(self):
        dataset = self.create_dataset('has-a-template', fields=self.FIELDS[1:2])
        template = dataset.template()
        self.assertEqual([f['name'] for f in template.fields if f['name'][0] != '_'], ['study'])
