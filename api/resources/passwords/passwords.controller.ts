import { Body, Controller, Req } from '@nestjs/common';
import { requireUserItself } from '../../../engine/catalog/access.js';
import { recordAudit } from '../../../engine/catalog/audit-log.js';
import { userSubject } from '../../../engine/catalog/change-user.js';
import { hashPassword } from '../../../engine/catalog/passwords.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Public } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import { PasswordCheck } from '../../http/password-check.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import {
  answerSchema,
  bodySchema,
  filledText,
  nullableText,
  text,
} from '../../http/json-schema.js';
import { detailSchema } from '../service/service.operations.js';

const loginBody = bodySchema('Login', 'Email address and password of a user.', {
  domain: {
    type: nullableText,
    description: "The domain of the user's account.",
    example: 'acme',
    initial: '',
  },
  email: { type: filledText, example: 'ada@acme.org', required: true },
  password: { type: filledText, example: 'a long phrase of her own', required: true },
});

const loginAnswer = answerSchema('LoginAnswer', 'A new token of the user.', {
  token: { type: text, example: 'g0temMi3D9pdSlUibjGO9XfD9J88fy' },
});

const passwordBody = bodySchema('PasswordChange', 'A new password of the user.', {
  current_password: {
    type: text,
    description: 'Required where a password is set.',
    initial: '',
    example: 'a long phrase of her own',
  },
  password: {
    type: filledText,
    description: '15 to 256 characters of any kind.',
    example: 'another long phrase of her own',
    required: true,
  },
});

export const passwordSchemas = [loginBody, loginAnswer, passwordBody];

export const passwordOperations = declareOperations('passwords', 'Tokens', {
  login: {
    method: 'POST',
    paths: ['/v1/auth/token'],
    summary: 'Returns a new token for an email address and a password; needs no token.',
    body: loginBody,
    answer: loginAnswer,
  },
  set: {
    method: 'PUT',
    paths: ['/v1/user/password'],
    summary: "Sets the user's password.",
    body: passwordBody,
    answer: detailSchema,
  },
});

/** Choice: a token that a password was exchanged for works for 30 days. */
const loginTokenLifetimeMs = 30 * 86_400_000;

/** Login by email address and password (contract 2.1), and setting or changing the user's own password. */
@Controller()
export class PasswordsController {
  constructor(
    private readonly context: AppContext,
    private readonly passwordCheck: PasswordCheck,
  ) {}

  @Operation(passwordOperations.login)
  @Public()
  async login(@Body() body: unknown, @Req() request: ApiRequest): Promise<object> {
    const { email, password, domain } = loginBody.parse(body);
    const { catalog, signingKey } = this.context;
    const user = await this.passwordCheck.findUserWithPassword(
      request.clientAddress,
      email,
      password,
    );
    const account = user && (await catalog.accounts.get(user.accountId));
    const isOfDomain = domain === '' || account?.domain.toLowerCase() === domain.toLowerCase();
    if (user === undefined || !isOfDomain) {
      // There is one message for all reasons, so that it does not reveal which users exist.
      const message = 'No user has this email address and password (in this domain).';
      throw new AppError('invalid', message, { non_field_errors: [message] });
    }
    const token = { userId: user.id, name: 'login', expiresAt: Date.now() + loginTokenLifetimeMs };
    return { token: (await catalog.tokens.create(token, signingKey)).secret };
  }

  @Operation(passwordOperations.set)
  @Access('write')
  async set(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    requireUserItself(caller);
    const { password, currentPassword } = passwordBody.parse(body);
    const { passwords } = this.context.catalog;
    const { id, email } = caller.user;
    if ((await passwords.get(id)) !== undefined) {
      const verifiedUser = await this.passwordCheck.findUserWithPassword(
        request.clientAddress,
        email,
        currentPassword,
      );
      if (!verifiedUser)
        throw invalidError('current_password', 'This is not the current password.');
    }
    const hash = await hashPassword(password);
    await this.context.catalog.transaction(async (tx) => {
      await tx.passwords.set(id, hash);
      const subject = userSubject(caller.user);
      await recordAudit(tx, { actor: caller.user, action: 'password.set', subject });
    });
    return { detail: 'The password is set.' };
  }
}
