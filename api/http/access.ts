import { SetMetadata, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Kind } from '../../engine/catalog/access.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { Caller, ApiRequest } from './request.js';

/** What the `:id` of a path may name; `engine/catalog/access.ts` has the access rule of each. */
export type ResourceKind = Kind;

/**
 * Who may call a handler. `scope` is what the token must allow; a `resource` rule also demands a permission on the
 * resource that the path names, before the handler runs.
 */
export type AccessRule =
  | { readonly kind: 'public' }
  | { readonly kind: 'user'; readonly scope: 'read' | 'write' }
  | {
      readonly kind: 'resource';
      readonly scope: 'read' | 'write';
      readonly resource: ResourceKind;
      readonly level: Permission;
    };

/** The metadata key under which a handler's rule is kept; a handler without one is refused. */
export const accessKey = 'strandlake:access';

/** Anyone, without credentials: a signed address, the description of the interface, the health check. */
export const Public = (): MethodDecorator & ClassDecorator =>
  SetMetadata(accessKey, { kind: 'public' } satisfies AccessRule);

/** Any user; the token's scope must allow it, and with `resource` the user must hold `level` on what `:id` names. */
export function Access(
  scope: 'read' | 'write',
  resource?: ResourceKind,
  level?: Permission,
): MethodDecorator & ClassDecorator {
  const rule: AccessRule =
    resource === undefined
      ? { kind: 'user', scope }
      : { kind: 'resource', scope, resource, level: level ?? scope };
  return SetMetadata(accessKey, rule);
}

/** The caller that the guard has established. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, execution: ExecutionContext): Caller => {
    const caller = execution.switchToHttp().getRequest<ApiRequest>().caller;
    if (!caller) throw new Error('no caller: the handler is public');
    return caller;
  },
);

/** The row that a `resource` rule has looked up. */
export const Resource = createParamDecorator((_: unknown, execution: ExecutionContext): unknown => {
  return execution.switchToHttp().getRequest<ApiRequest>().resource;
});
