import { row, type OperationRow } from '../../http/operation-row.js';

/** The service itself and its users. */
export const serviceOperations = {
  'root.head': row('HEAD', ['/'], 'Service', 'Says that the server is there.', 'nothing'),
  'root.get': row('GET', ['/'], 'Service', 'Confirms the credentials.', 'Detail'),
  health: row('GET', ['/health'], 'Service', 'Says whether the server can work.', 'Health'),
  openapi: row('GET', ['/openapi.json'], 'Service', 'This description.', 'page'),
  docs: row('GET', ['/docs'], 'Service', 'A page to read and try the interface.', 'page'),
  swagger: row('GET', ['/swagger'], 'Service', 'Leads to /docs.', 'nothing', { status: 302 }),
  'user.get': row('GET', ['/v1/user'], 'Users', 'The current user and account.', 'User'),
  'users.get': row('GET', ['/v1/users/:id'], 'Users', 'A user of the same account.', 'User'),
} satisfies Readonly<Record<string, OperationRow>>;
