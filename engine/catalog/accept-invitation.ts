import { invalidError } from '../core/errors.js';
import { readPermissionOn, loadPrincipal } from './access.js';
import { recordAudit, type AuditSubject } from './audit-log.js';
import type { Tables } from './catalog-tables.js';
import { createUser, type CreatedUser } from './create-user.js';
import { invitationStatus, type InvitationRow } from './invitations.js';
import { foldName } from './object-names.js';
import { shareVault } from './share-vault.js';

/** The data that a person sends to accept an invitation. */
interface InvitationAcceptance {
  readonly code: string;
  /** Required if the invitation is not for a particular address. */
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
}

/** An invitation as the subject of an entry of the audit log. */
export function invitationSubject({ id, email, accountId }: InvitationRow): AuditSubject {
  return { type: 'invitation', id, name: email ?? 'a link', accountId };
}

/**
 * Creates the user of an invitation, with its role, groups and permissions and a token. Must run inside `catalog.transaction`; a second
 * acceptance of the same code fails. Throws `invalid` for a code that is unknown, used, revoked or expired, for a void invitation, for an
 * address other than that of the invitation, and for no address if the invitation has none.
 * Choice: an invitation grants what the administrator who made it may grant now. The invitation is void if that user is no longer an
 * administrator. A vault or group that no longer exists is left out, and so is a vault on which that administrator no
 * longer has the permission admin.
 */
export async function acceptInvitation(
  tx: Tables,
  { code, email, ...names }: InvitationAcceptance,
  key: Uint8Array,
): Promise<CreatedUser> {
  const invitation = await tx.invitations.byCode(code, key);
  const inviter = invitation && (await loadPrincipal(tx, invitation.userId));
  if (
    !invitation ||
    !inviter ||
    inviter.user.role === 'member' ||
    invitationStatus(invitation) !== 'open'
  )
    throw invalidError(
      'code',
      'There is no such invitation, or it was used, revoked or has expired; ask for another one.',
    );
  const createdUser = await createUser(
    tx,
    {
      ...names,
      email: emailForInvitation(invitation, email),
      domain: inviter.account.domain,
      role: invitation.role,
      token: { name: 'invitation' },
      actor: inviter.user,
    },
    key,
  );
  const { user } = createdUser;
  for (const id of invitation.groupIds) {
    const group = await tx.groups.get(id);
    if (group === undefined || !(await tx.groups.addMember(id, user.id))) continue;
    const subject = { type: 'group', id, name: group.name, accountId: group.accountId } as const;
    const details = { user_id: user.id, email: user.email };
    await recordAudit(tx, { actor: inviter.user, action: 'group.add_member', subject, details });
  }
  for (const { vaultId, permission } of invitation.vaultPermissions) {
    const vault = await tx.vaults.get(vaultId);
    if (vault === undefined || (await readPermissionOn(tx, inviter, vaultId)) !== 'admin') continue;
    await shareVault(tx, inviter.user, vault, { userId: user.id }, permission);
  }
  await tx.invitations.accept(invitation.id, user.id);
  await recordAudit(tx, {
    actor: user,
    action: 'invitation.accept',
    subject: invitationSubject(invitation),
    details: { user_id: user.id, email: user.email },
  });
  return createdUser;
}

function emailForInvitation({ email }: InvitationRow, given: string | undefined): string {
  if (email === null) {
    if (given !== undefined) return given;
    throw invalidError('email', 'This invitation is to no particular address: give yours.');
  }
  if (given === undefined || foldName(given) === foldName(email)) return email;
  throw invalidError(
    'email',
    `This invitation is for another address than ${given.slice(0, 100)}.`,
  );
}
