import {
  invitationStatus,
  type InvitationRow,
  type NewInvitation,
} from '../../../engine/catalog/invitations.js';
import { checkEmail } from '../../../engine/catalog/users.js';
import { Form, readId } from '../../http/form.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  bodySchema,
  id,
  integer,
  integers,
  listOf,
  nullable,
  objectOf,
  readProperties,
  enumOf,
  filledText,
  withReader,
  text,
  timestamp,
} from '../../http/json-schema.js';
import { readCheckedName } from '../shared/checked-name.js';
import { userField, type WithUser } from '../shared/common-fields.js';
import { permissionNames } from '../shared/vault.js';

/** The hours for which an invitation can be accepted, by default and at most (`most`). */
export const invitationLifetimeHours = { default: 72, most: 24 * 30 } as const;

/** The data that the view of an invitation shows and its row does not have. */
interface InvitationContext extends WithUser {
  readonly origin: string;
  /** The invitation code; null except in the answer that creates the invitation. */
  readonly code: string | null;
}

function readIdList(form: Form, key: string): readonly number[] | undefined {
  const rawValue = form.raw(key);
  if (rawValue === undefined) return undefined;
  const ids = (Array.isArray(rawValue) ? rawValue : [rawValue]).map(readId);
  if (ids.every((one) => one !== undefined)) return [...new Set(ids)];
  return form.fail(key, 'Must be a list of ids.');
}

/** The keys of a permission on a vault that an invitation grants. */
const grantedProperties = {
  vault_id: { type: id, required: true },
  permission: { type: enumOf(...permissionNames), initial: 'read' },
} as const;

function readVaultPermissions(
  form: Form,
  key: string,
): InvitationRow['vaultPermissions'] | undefined {
  return form.objectList(key)?.flatMap((member) => {
    const memberForm = new Form(member);
    const { vaultId, permission } = readProperties(memberForm, grantedProperties);
    form.collectErrorsOfPart(key, memberForm, (name, messages) => `${name}: ${messages}`);
    return vaultId === undefined ? [] : [{ vaultId, permission }];
  });
}

/** What a request that creates an invitation gives. */
type InvitationValues = Omit<NewInvitation, 'userId' | 'accountId' | 'expiresAt'> & {
  readonly expiresInHours: number;
};

/** An invitation to join an account. */
export const invitation = declareResource<InvitationRow, InvitationContext, InvitationValues>({
  name: 'Invitation',
  description: 'An invitation to join the account, which can be accepted once.',
  fields: {
    class_name: constantField('Invitation'),
    id: { type: id, example: 9 },
    account_id: { type: id, example: 1 },
    email: {
      type: nullable(
        withReader(text, (form, key) =>
          form.raw(key) === undefined
            ? null
            : readCheckedName(form, key, (_field, address) => checkEmail(address)),
        ),
      ),
      description: 'The only address that may accept it; null: any.',
      example: 'grace@acme.org',
      create: 'optional',
      initial: null,
    },
    role: { type: enumOf('member', 'admin'), example: 'member', create: 'optional', initial: 'member' }, // prettier-ignore
    group_ids: {
      type: withReader(integers, readIdList),
      description: 'Groups that the new user is in.',
      example: [],
      create: 'optional',
      initial: [],
    },
    vault_permissions: {
      type: withReader(listOf(objectOf(grantedProperties)), readVaultPermissions),
      description: 'Permissions on vaults that the new user gets; `permission` is read if absent.',
      example: [{ vault_id: 12, permission: 'read' }],
      create: 'optional',
      initial: [],
      show: ({ vaultPermissions }) =>
        vaultPermissions.map(({ vaultId, permission }) => ({ vault_id: vaultId, permission })),
    },
    expires_in_hours: {
      type: integer,
      description: `After how many hours it expires: 1 to ${invitationLifetimeHours.most}, ${invitationLifetimeHours.default} if absent.`,
      example: 72,
      create: 'optional',
      initial: invitationLifetimeHours.default,
      show: null,
    },
    status: {
      type: enumOf('open', 'accepted', 'revoked', 'expired'),
      example: 'open',
      show: (row) => invitationStatus(row),
    },
    code: {
      type: nullable(text),
      description:
        'What accepts it, shown once: only its hash is stored. null in every other answer.',
      example: 'mB3s7Qf0c9TtXv2aLkP1yZ8hRwNd5E',
      show: (_, { code }) => code,
    },
    link: {
      type: nullable(text),
      description: 'The address to send to who is invited, with the code after the #; shown once.',
      example: 'http://localhost:7878/join#mB3s7Qf0c9TtXv2aLkP1yZ8hRwNd5E',
      show: (_, { code, origin }) => (code === null ? null : `${origin}/join#${code}`),
    },
    user: userField,
    user_id: { type: id, description: 'Id of the user who invites.', example: 3 },
    created_at: { type: timestamp, example: '2026-03-02T09:15:00.000Z' },
    expires_at: { type: timestamp, example: '2026-03-05T09:15:00.000Z' },
    accepted_at: { type: nullable(timestamp), example: null },
    accepted_by: { type: nullable(id), description: 'The user who accepted it.', example: null },
    revoked_at: { type: nullable(timestamp), example: null },
  },
});

/** The body of a request that accepts an invitation. */
export const acceptanceBody = bodySchema('InvitationAcceptance', 'What accepts an invitation.', {
  code: { type: filledText, required: true, example: 'mB3s7Qf0c9TtXv2aLkP1yZ8hRwNd5E' },
  email: {
    type: text,
    description: 'Required where the invitation is to no particular address.',
    example: 'rosalind@acme.org',
  },
  first_name: { type: text, example: 'Rosalind' },
  last_name: { type: text, example: 'Franklin' },
});
