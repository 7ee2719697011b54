import { RootController } from './root.controller.js';
import { UsersController } from './users.controller.js';

/** Every controller of the interface. */
export const controllers = [RootController, UsersController] as const;
