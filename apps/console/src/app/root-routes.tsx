import { createRootRoute, createRoute, Outlet } from '@tanstack/react-router';
import { NotFound } from './page-failure.tsx';
import { Shell } from './shell.tsx';
import { RequireSignIn } from './signed-in.tsx';

/** Pages without navigation, such as sign-in. */
export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: 'shell', component: Shell });

/** Pages that need a signed-in member of an organisation; others are redirected to sign-in and back. */
export const insideRoute = createRoute({
  getParentRoute: () => shellRoute,
  id: 'inside',
  component: RequireSignIn,
});
