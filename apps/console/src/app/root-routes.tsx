import { createRootRoute, createRoute, Outlet } from '@tanstack/react-router';
import { NotFound } from './page-failure.tsx';
import { Shell } from './shell.tsx';
import { RequireSignIn } from './signed-in.tsx';

/** Bare pages, such as the sign-in. */
export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

/** Pages with the frame around them that everybody may see: the navigation, and the person if there is one. */
export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: 'shell', component: Shell });

/** Pages that need somebody who is signed in and an organisation; others are sent to the sign-in and come back. */
export const insideRoute = createRoute({
  getParentRoute: () => shellRoute,
  id: 'inside',
  component: RequireSignIn,
});
