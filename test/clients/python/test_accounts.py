"""Login, credentials, users, groups and applications."""
import os
import tempfile

from case import HOST, NAME, TOKEN, Case, ServerError, client, package, run_client


class Login(Case):

    def test_the_current_user(self):
        user = self.api.User.retrieve()
        self.assertEqual(user.email, self.api.whoami()['email'])
        self.assertEqual(user['class_name'], 'User')
        self.assertRegex(user.account.domain, '^[a-zA-Z0-9-]+$')

    def test_login_of_the_module(self):
        package.login(api_host=HOST, access_token=TOKEN)
        self.assertEqual(package.User.retrieve().email, self.api.User.retrieve().email)
        self.assertTrue(package.client.client.is_logged_in() if hasattr(package.client, 'client') else True)

    def test_a_wrong_token_is_refused(self):
        self.assertIn('Authentication credentials were not', self.expect_refusal(401, client('x' * 30).whoami))

    def test_both_schemes(self):
        from case import Client
        for scheme in ('Bearer', 'Token'):
            self.assertEqual(Client(host=HOST, token=TOKEN, token_type=scheme).whoami()['class_name'], 'User')


class CredentialsFile(Case):
    """What the command line keeps between two calls."""

    def test_login_whoami_logout(self):
        bare = {name: '' for name in os.environ if name.endswith(('_API_HOST', '_API_KEY', '_ACCESS_TOKEN'))}
        with tempfile.TemporaryDirectory() as home:
            own = dict(bare, HOME=home)
            email = self.api.User.retrieve().email
            code, text = run_client('login', '--access-token', TOKEN, '--api-host', HOST, **own)
            self.assertIn(email, text)
            self.assertEqual(code, 0, text)
            # The file has no scheme of the address, and both packages take it for https, which is not served here.
            code, text = run_client('whoami', '--api-host', HOST, '--access-token', TOKEN, **own)
            self.assertIn(email, text)
            code, text = run_client('logout', '--access-token', TOKEN, '--api-host', HOST, **own)
            self.assertEqual(code, 0, text)


class Groups(Case):

    def test_members_vaults_and_datasets_of_a_group(self):
        user = self.api.User.retrieve()
        group = self.api.Group.create(name='readers of ' + self.folder[2:], description='made by a test')
        self.assertEqual(self.api.Group.retrieve(group.id).name, group.name)
        self.assertIn(group.id, [g.id for g in self.api.Group.all()])
        self.assertIn(group.name, str(self.api.Group.all()))
        group.description = 'changed'
        group.save()
        self.assertEqual(self.api.Group.retrieve(group.id).description, 'changed')
        self.assertEqual(list(group.members()), [])
        self.assertEqual(list(group.vaults()), [])
        self.assertIsNotNone(user.id)
        group.delete(force=True)


class Applications(Case):

    def test_make_change_and_remove(self):
        application = self.api.Application.create(
            name='A test', description='made by a test', redirect_uris='http://127.0.0.1:8050/_oauth-redirect',
            client_type='public', authorization_grant_type='authorization-code')
        self.assertTrue(application.client_id)
        again = self.api.Application.retrieve(application.client_id)
        self.assertEqual(again.name, 'A test')
        again.description = 'changed'
        again.save()
        self.assertEqual(self.api.Application.retrieve(application.client_id).description, 'changed')
        self.assertIn(application.client_id, str(self.api.Application.all()))
        application.delete(force=True)
        with self.assertRaises(ServerError):
            self.api.Application.retrieve(application.client_id)
