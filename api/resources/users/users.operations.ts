import { declareOperations } from '../../http/operation-row.js';
import { user } from './user.js';

/** The operation that confirms who the caller is. */
export const currentUserOperations = declareOperations('user', 'Users', {
  get: {
    method: 'GET',
    paths: ['/v1/user'],
    summary: 'Returns the current user with the account.',
    answer: user.schema,
  },
});

/** The operations on users. */
export const userOperations = declareOperations('users', 'Users', {
  get: {
    method: 'GET',
    paths: ['/v1/users/:id'],
    summary: 'Returns a user of the same account.',
    answer: user.schema,
  },
});
