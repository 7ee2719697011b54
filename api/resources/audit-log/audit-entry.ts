import { auditActions, type AuditRow } from '../../../engine/catalog/audit-log.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  id,
  jsonObject,
  nullable,
  enumOf,
  reference,
  text,
  timestamp,
} from '../../http/json-schema.js';
import { userSummary } from '../shared/user.js';

/** The data that the view of an entry shows and its row does not have: who made the change. */
interface AuditEntryContext {
  readonly actor: UserRow | undefined;
}

/** An entry of the audit log. */
export const auditEntry = declareResource<AuditRow, AuditEntryContext>({
  name: 'AuditEntry',
  description: 'A change of users, groups, permissions, invitations, credentials or beacons.',
  fields: {
    class_name: constantField('AuditEntry'),
    id: { type: id, example: 31 },
    created_at: { type: timestamp, example: '2026-03-02T09:15:00.000Z' },
    action: { type: enumOf(...auditActions), example: 'permission.grant' },
    user_id: {
      type: nullable(id),
      description: 'Who made the change; null: a command on the data folder.',
      example: 3,
      property: 'actorId',
    },
    user: {
      type: nullable(reference('UserSummary')),
      example: userSummary.schema.example,
      show: (_, { actor }) => (actor ? userSummary.view(actor, {}) : null),
    },
    subject_type: {
      type: enumOf('vault', 'group', 'user', 'invitation', 'token', 'application', 'dataset'),
      example: 'vault',
    },
    subject_id: { type: id, example: 12 },
    subject_name: {
      type: text,
      description: 'Its name at that time; of a user, the address.',
      example: 'Cardiomyopathy families',
    },
    details: {
      type: jsonObject,
      description: 'What was changed.',
      example: { user_id: 4, email: 'grace@acme.org', before: null, after: 'read' },
    },
    account_id: { type: id, example: 1 },
  },
});
