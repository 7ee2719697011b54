import type { Command } from '../command.js';
import {
  groupAdd,
  groupCreate,
  groupDelete,
  groupList,
  groupMembers,
  groupRemove,
} from './group.js';
import { importCommand } from './import.js';
import { login } from './login.js';
import { cp, ls, tasks } from './objects.js';
import { exportCommand, query } from './query.js';
import { serve } from './serve.js';
import { tokenAdd, tokenList, tokenRename, tokenRevoke } from './token.js';
import { userInvite, userRestore, userRole } from './user-changes.js';
import { userAdd, userList, userLoginLink, userPassword, userRemove } from './user.js';
import { vaultPermissions, vaultShare, vaultTransfer, vaultUnshare } from './vault.js';
import { verify } from './verify.js';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  serve,
  login,
  importCommand,
  query,
  exportCommand,
  ls,
  cp,
  tasks,
  vaultShare,
  vaultUnshare,
  vaultTransfer,
  vaultPermissions,
  groupList,
  groupCreate,
  groupDelete,
  groupMembers,
  groupAdd,
  groupRemove,
  userAdd,
  userInvite,
  userList,
  userRole,
  userRemove,
  userRestore,
  userPassword,
  userLoginLink,
  tokenAdd,
  tokenList,
  tokenRename,
  tokenRevoke,
  verify,
];
