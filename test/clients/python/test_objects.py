"""Vaults, folders, files, shortcuts and versions."""
import hashlib
import os
import urllib.request
import uuid

from case import Case, ServerError, paths_of_own_tests, without_reserved_fields


def names(objects):
    return sorted(o.filename for o in objects)


class Vaults(Case):

    def test_make_find_change_and_remove(self):
        name = 'Vault %s' % uuid.uuid4()
        vault = self.api.Vault.get_or_create_by_full_path(name)
        self.assertEqual(self.api.Vault.get_or_create_by_full_path(name).id, vault.id)
        self.assertEqual(self.api.Vault.get_by_full_path(name.lower()).id, vault.id)
        self.assertIn('name', self.expect_refusal(400, self.api.Vault.create, name=name))
        vault.description = 'changed'
        vault.metadata = {'a': 'b'}
        vault.save()
        again = self.api.Vault.retrieve(vault.id)
        self.assertEqual([again.description, dict(again.metadata)], ['changed', {'a': 'b'}])
        self.assertIn(vault.id, [v.id for v in self.api.Vault.all(query=name[6:])])
        vault.delete(force=True)
        self.assertNotIn(vault.id, [v.id for v in self.api.Vault.all()])

    def test_personal_and_public_vaults(self):
        personal = self.api.Vault.get_personal_vault()
        self.assertEqual(self.api.Vault.get_by_full_path('~').id, personal.id)
        self.assertEqual(personal.vault_type, 'user')
        public = paths_of_own_tests()['genes'].rsplit(':', 1)[0].lower()
        self.assertTrue(self.api.Vault.get_by_full_path(public).is_public)

    def test_listings_print_as_tables(self):
        self.assertIn('Path', str(self.api.Vault.all()))
        self.assertIn('class_name', str(self.api.Vault.get_personal_vault()))

    def test_versioning(self):
        vault = self.api.Vault.get_or_create_by_full_path('Versions %s' % uuid.uuid4())
        for state in ('enable', 'disable', 'suspend'):
            getattr(vault, state + '_versioning')()
            self.assertEqual(vault.versioning, {'suspend': 'suspended'}.get(state, state + 'd'))
        vault.delete(force=True)


class Folders(Case):

    def test_make_move_rename_and_remove(self):
        vault = self.api.Vault.get_personal_vault()
        a = vault.create_folder('a', path=self.folder[1:])
        b = self.api.Object.get_or_create_by_full_path(self.path('x/y/b'), object_type='folder')
        self.assertEqual(b.path, self.folder[1:] + '/x/y/b')
        b.parent_object_id = a.id
        b.filename = 'moved'
        b.save()
        self.assertEqual(self.api.Object.get_by_full_path(self.path('a/moved')).id, b.id)
        self.assertEqual(self.api.Object.get_by_full_path(self.path('A/Moved')).id, b.id)
        a.delete(force=True)
        with self.assertRaises(Exception):
            self.api.Object.get_by_full_path(self.path('a/moved'))

    def test_listings_and_searches(self):
        for name in ('one/sample.xml.gz', 'one/two/sample.csv', 'one/two/other.csv'):
            folder = os.path.dirname(self.path(name))
            self.api.Object.get_or_create_by_full_path(folder, object_type='folder')
            vault = self.api.Vault.get_personal_vault()
            local = self.write(name, name)
            self.api.Object.upload_file(local, folder[1:], vault.full_path)
        self.create_dataset('one/table')
        one = self.api.Object.get_by_full_path(self.path('one'))
        self.assertEqual(names(one.files()), ['sample.xml.gz'])
        self.assertEqual(names(one.files(recursive=True)), ['other.csv', 'sample.csv', 'sample.xml.gz'])
        self.assertEqual(names(one.folders()), ['two'])
        self.assertEqual(names(one.datasets()), ['table'])
        self.assertEqual(names(one.ls()), ['sample.xml.gz', 'table', 'two'])
        self.assertEqual(names(one.objects(recursive=True, query='sample')), ['sample.csv', 'sample.xml.gz'])
        self.assertEqual(names(one.files(recursive=True, regex='two/s.*csv')), ['sample.csv'])
        self.assertEqual(names(one.files(recursive=True, glob=one.path + '/*.gz')), ['sample.xml.gz'])
        self.assertEqual(names(one.files(filename='sample.xml.gz')), ['sample.xml.gz'])
        self.assertEqual(names(vault.objects(filename='table', query=self.folder[2:])), ['table'])
        self.assertIn('sample.csv', names(vault.search('sample', object_type='file')))
        self.assertIn('sample.csv', names(vault.search('sample AND type:file')))
        self.assertIn('sample.csv', names(self.api.Object.all(glob='~/*/one/two/s*')))
        self.assertEqual(one.parent.id, self.api.Object.get_by_full_path(self.folder).id)
        self.assertEqual(one.vault.id, vault.id)


class Files(Case):

    def test_upload_and_download(self):
        text = 'a,b\n1,2\n'
        file = self.upload('data.csv', text)
        self.assertEqual(file.md5, hashlib.md5(text.encode()).hexdigest())
        again = self.api.Object.get_by_full_path(self.path('data.csv'))
        self.assertEqual([again.id, again.size, again.availability], [file.id, len(text), 'available'])
        self.assertEqual(urllib.request.urlopen(again.download_url()).read().decode(), text)
        for target in (self.local + '/down.csv', self.local + '/'):
            path = again.download(target)
            with open(path) as downloaded:
                self.assertEqual(downloaded.read(), text)

    def test_an_upload_again_is_skipped_or_gets_another_name(self):
        first = self.upload('same.txt', 'same')
        self.assertEqual(self.upload('same.txt', 'same').id, first.id)
        self.assertNotEqual(self.upload('same.txt', 'other').filename, 'same.txt')

    def test_tags_and_metadata(self):
        file = self.upload('tagged.txt', 'x')
        file.tags = ['tag1', 'tag2']
        file.metadata = {'file_type': 'CSV', 'project': 'My Project'}
        file.save()
        file.tag('tag3')
        file.untag('tag1')
        again = self.api.Object.retrieve(file.id)
        self.assertEqual(sorted(again.tags), ['tag2', 'tag3'])
        self.assertEqual(again.metadata['project'], 'My Project')
        self.assertTrue(again.has_tag('TAG3'))

    def test_queries_of_a_file(self):
        file = self.upload('genes.csv', 'gene,n\nBRCA1,1\nBRCA2,2\nTP53,3\n')
        self.assertEqual(file.query().fields(), ['gene', 'n'])
        self.assertEqual([r['gene'] for r in file.query().filter(n__gt=1)], ['BRCA2', 'TP53'])
        self.assertEqual([r['gene'] for r in file.query(limit=2)], ['BRCA1', 'BRCA2'])
        self.assertEqual(list(file.query(output_format='tsv', fields=['gene']))[0], 'gene')
        self.assertIn('BRCA1', repr(file.query(output_format='csv')))

    def test_a_large_file_in_parts(self):
        """The server of these tests asks for parts from 8 MiB on."""
        content = os.urandom(11 << 20)
        file = self.upload('large.bin', content)
        self.assertTrue(file.is_multipart)
        again = self.api.Object.retrieve(file.id)
        self.assertEqual([again.size, again.availability], [len(content), 'available'])
        with open(again.download(self.local + '/large.down'), 'rb') as downloaded:
            self.assertEqual(downloaded.read(), content)

    def test_parts_may_be_sent_in_parallel(self):
        content = os.urandom(11 << 20)
        vault = self.api.Vault.get_personal_vault()
        local = self.write('parallel.bin', content)
        file = self.api.Object.upload_file(local, self.folder[1:], vault.full_path, num_processes=4)
        self.assertEqual(self.api.Object.retrieve(file.id).size, len(content))

    def test_removal(self):
        file = self.upload('gone.txt', 'x')
        file.delete(force=True)
        with self.assertRaises(ServerError):
            self.api.Object.retrieve(file.id)


class VersionsAndShortcuts(Case):

    def test_versions(self):
        vault = self.api.Vault.get_or_create_by_full_path('Versions %s' % uuid.uuid4())
        vault.enable_versioning()
        for text in ('one', 'two'):
            file = self.api.Object.create(filename='v.txt', object_type='file', vault_id=vault.id)
            request = urllib.request.Request(file.upload_url, data=text.encode(), method='PUT')
            urllib.request.urlopen(request)
        self.assertEqual(file.version_count, 2)
        versions = file.list_versions()['data']
        self.assertEqual(len(versions), 2)
        first_version = versions[-1]['id']
        with open(file.download(self.local + '/v.txt', version_id=first_version)) as downloaded:
            self.assertEqual(downloaded.read(), 'one')
        file.delete_version(first_version)
        self.assertEqual(len(file.list_versions(include_deleted=False)['data']), 1)
        file.undelete_version(first_version)
        self.assertEqual(len(file.list_versions(include_deleted=False)['data']), 2)
        file.restore_version(first_version)
        with open(file.download(self.local + '/v2.txt')) as downloaded:
            self.assertEqual(downloaded.read(), 'one')
        vault.delete(force=True)

    def test_shortcuts(self):
        vault = self.api.Vault.get_personal_vault()
        file = self.upload('target.txt', 'x')
        for target, name in ((file, 'to-file'), (self.api.Object.get_by_full_path(self.folder), 'to-folder')):
            shortcut = target.create_shortcut(vault.full_path + ':' + self.folder[1:] + '/' + name)
            self.assertTrue(shortcut.is_shortcut)
            self.assertEqual(shortcut.get_target().id, target.id)
        url = self.api.Object.create(
            filename='to-url', object_type='shortcut', vault_id=vault.id,
            parent_object_id=self.api.Object.get_by_full_path(self.folder).id,
            target={'url': 'www.example.org', 'object_type': 'url'})
        self.assertEqual(url.get_target(), 'www.example.org')

    def test_copies(self):
        file = self.upload('copied.txt', 'x')
        target = self.api.Object.get_or_create_by_full_path(self.path('copies'), object_type='folder')
        task = self.api.ObjectCopyTask.create(
            source_vault_id=file.vault_id, source_object_id=file.id,
            target_vault_id=file.vault_id, target_object_id=target.id)
        task.follow()
        self.assertEqual(task.status, 'completed')
        self.assertEqual(names(target.files()), ['copied.txt'])
        self.assertIn(str(task.id), str(self.api.ObjectCopyTask.all()))
