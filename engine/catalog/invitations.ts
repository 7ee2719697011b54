import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { foldName } from './object-names.js';
import type { Permission } from './permission.js';
import { hashSecret, randomSecret } from './secrets.js';
import { conjunctionOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The length of an invitation code in characters. */
const codeLength = 30;

/** A permission on a vault that the acceptance of an invitation grants. */
interface InvitedPermission {
  readonly vaultId: number;
  readonly permission: Permission;
}

/** An invitation to join an account. Its code is not stored, only a keyed hash. */
export interface InvitationRow {
  readonly id: number;
  readonly accountId: number;
  /** The administrator who made the invitation. */
  readonly userId: number;
  /** The only email address that may accept the invitation; null for any address. */
  readonly email: string | null;
  readonly role: 'member' | 'admin';
  readonly groupIds: readonly number[];
  readonly vaultPermissions: readonly InvitedPermission[];
  readonly createdAt: Millis;
  readonly expiresAt: Millis;
  readonly acceptedAt: Millis | null;
  readonly acceptedBy: number | null;
  readonly revokedAt: Millis | null;
}

export type NewInvitation = Omit<
  InvitationRow,
  'id' | 'createdAt' | 'acceptedAt' | 'acceptedBy' | 'revokedAt'
>;

type InvitationStatus = 'open' | 'accepted' | 'revoked' | 'expired';

export interface InvitationFilter {
  readonly accountId: number;
  readonly status?: InvitationStatus;
  /** The email address, in any letter case. */
  readonly email?: string;
}

/** Invitations. Only `create` returns the code. */
interface InvitationTable {
  get(id: number): Promise<InvitationRow | undefined>;
  /** The invitation with this code, in any state. */
  byCode(code: string, key: Uint8Array): Promise<InvitationRow | undefined>;
  /** Lists the invitations, newest first. */
  list(filter: InvitationFilter, page: Page): Promise<ListedRows<InvitationRow>>;
  /** Creates an invitation; an open one to the same address is revoked. */
  create(
    invitation: NewInvitation,
    key: Uint8Array,
  ): Promise<{ readonly row: InvitationRow; readonly code: string }>;
  accept(id: number, userId: number): Promise<void>;
  revoke(id: number): Promise<void>;
}

const invitations = tableCodec<InvitationRow, { hash: string; emailKey: string | null }>(
  'invitations',
  {
    id: 'plain',
    accountId: 'plain',
    userId: 'plain',
    email: 'plain',
    role: 'plain',
    groupIds: 'json',
    vaultPermissions: 'json',
    createdAt: 'plain',
    expiresAt: 'plain',
    acceptedAt: 'plain',
    acceptedBy: 'plain',
    revokedAt: 'plain',
  },
  { hash: 'plain', emailKey: 'plain' },
);

/** The state of an invitation at a time. */
export function invitationStatus(row: InvitationRow, now = Date.now()): InvitationStatus {
  if (row.acceptedAt !== null) return 'accepted';
  if (row.revokedAt !== null) return 'revoked';
  return row.expiresAt <= now ? 'expired' : 'open';
}

/** Returns access to the table of invitations. */
export function invitationTable(db: Database): InvitationTable {
  const invitationWhere = async (where: Sql): Promise<InvitationRow | undefined> => {
    const row = await db.get(sql`SELECT ${invitations.columns} FROM invitations WHERE ${where}`);
    return row && invitations.parse(row);
  };
  return {
    get: (id) => invitationWhere(sql`invitations.id = ${id}`),
    byCode: (code, key) =>
      invitationWhere(sql`invitations.hash = ${hashSecret('invitation', code, key)}`),
    list: (filter, page) =>
      listPage(
        db,
        invitations,
        {
          from: sql`invitations`,
          where: conjunctionOf(invitationConditions(filter)),
          orderBy: sql`invitations.id DESC`,
        },
        page,
      ),
    create: (invitation, key) =>
      db.atomic(async (tx) => {
        const now = Date.now();
        const emailKey = invitation.email === null ? null : foldName(invitation.email);
        if (emailKey !== null) {
          await tx.run(sql`UPDATE invitations SET revoked_at = ${now}
            WHERE account_id = ${invitation.accountId} AND email_key = ${emailKey} AND ${isOpenInvitation(now)}`);
        }
        const code = randomSecret(codeLength);
        const row = {
          ...invitation,
          id: await nextSmallId(tx, 'invitation'),
          createdAt: now,
          acceptedAt: null,
          acceptedBy: null,
          revokedAt: null,
        };
        const hash = hashSecret('invitation', code, key);
        await tx.run(invitations.insert({ ...row, hash, emailKey }));
        await recordCreatedId(tx, row.id);
        return { row, code };
      }),
    accept: async (id, userId) => {
      await db.run(sql`UPDATE invitations SET accepted_at = ${Date.now()}, accepted_by = ${userId}
        WHERE id = ${id}`);
    },
    revoke: async (id) => {
      await db.run(sql`UPDATE invitations SET revoked_at = ${Date.now()} WHERE id = ${id}`);
    },
  };
}

function invitationConditions({ accountId, status, email }: InvitationFilter): Sql[] {
  const clauses = [sql`invitations.account_id = ${accountId}`];
  if (email !== undefined) clauses.push(sql`invitations.email_key = ${foldName(email)}`);
  const now = Date.now();
  const states: Readonly<Record<InvitationStatus, Sql>> = {
    open: isOpenInvitation(now),
    accepted: sql`accepted_at IS NOT NULL`,
    revoked: sql`accepted_at IS NULL AND revoked_at IS NOT NULL`,
    expired: sql`accepted_at IS NULL AND revoked_at IS NULL AND expires_at <= ${now}`,
  };
  if (status !== undefined) clauses.push(states[status]);
  return clauses;
}

function isOpenInvitation(now: Millis): Sql {
  return sql`accepted_at IS NULL AND revoked_at IS NULL AND expires_at > ${now}`;
}
