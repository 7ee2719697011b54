import { SetMetadata, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AccessKind } from '../../engine/catalog/access.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { Caller, ApiRequest } from './api-request.js';

/** The kinds of resource that the `:id` of a path may name; `engine/catalog/access.ts` has the access rule of each. */
export type ResourceKind = AccessKind;

/**
 * Who may call a handler. `scope` is what the token must allow; a `resource` rule also demands a permission on the
 * resource that the path names, before the handler runs.
 */
export type AccessRule =
  | { readonly kind: 'public' }
  | { readonly kind: 'anyone' }
  | { readonly kind: 'user'; readonly scope: 'read' | 'write' }
  | {
      readonly kind: 'resource';
      readonly scope: 'read' | 'write';
      readonly resource: ResourceKind;
      readonly level: Permission;
    };

/** The metadata key of a handler's rule. Requests to a handler without a rule are refused. */
export const accessMetadataKey = 'strandlake:access';

/**
 * Admits anyone, without authentication by `AuthGuard`: for signed addresses, requests whose body has the credentials, pages for browsers,
 * and operations that need no credentials or whose handler checks them, such as the health check and the metrics.
 */
export const Public = (): MethodDecorator & ClassDecorator =>
  SetMetadata(accessMetadataKey, { kind: 'public' } satisfies AccessRule);

/**
 * Admits anyone, with credentials or without; wrong credentials are refused. The handler decides what clients with credentials see, and
 * what those without.
 */
export const AnyCaller = (): MethodDecorator & ClassDecorator =>
  SetMetadata(accessMetadataKey, { kind: 'anyone' } satisfies AccessRule);

/**
 * Admits users whose token has the scope; with `resource`, only those with the permission `level`, by default `scope`, on the resource of
 * `:id`.
 */
export function Access(
  scope: 'read' | 'write',
  resource?: ResourceKind,
  level?: Permission,
): MethodDecorator & ClassDecorator {
  const rule: AccessRule =
    resource === undefined
      ? { kind: 'user', scope }
      : { kind: 'resource', scope, resource, level: level ?? scope };
  return SetMetadata(accessMetadataKey, rule);
}

/** The caller of a request, whom `Authenticator` has authenticated. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, execution: ExecutionContext): Caller => {
    const caller = execution.switchToHttp().getRequest<ApiRequest>().caller;
    if (!caller) throw new Error('no caller: the handler is public');
    return caller;
  },
);

/** The row of the resource that the path names, which the access check of a `resource` rule has read. */
export const Resource = createParamDecorator((_: unknown, execution: ExecutionContext): unknown => {
  return execution.switchToHttp().getRequest<ApiRequest>().resource;
});
