import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute, rootRoute } from '../../app/root-routes.tsx';

/** Redirect target after sign-in. It comes from the URL, so only own paths are allowed. */
function nextOf(search: Record<string, unknown>): { next?: string } {
  const { next } = search;
  return typeof next === 'string' && /^\/(?![/\\])/.test(next) ? { next } : {};
}

function textOf(search: Record<string, unknown>, name: string): string | undefined {
  const value = search[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Pages without navigation, for users who are signed out or have no organisation. */
export const signInRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'sign-in',
    validateSearch: nextOf,
    component: lazyRouteComponent(() => import('./sign-in-page.tsx'), 'SignInPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'sign-up',
    validateSearch: nextOf,
    component: lazyRouteComponent(() => import('./sign-up-page.tsx'), 'SignUpPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'verified',
    validateSearch: (search: Record<string, unknown>) => ({ error: textOf(search, 'error') }),
    component: lazyRouteComponent(() => import('./verified-page.tsx'), 'VerifiedPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'forgot-password',
    component: lazyRouteComponent(() => import('./password-pages.tsx'), 'ForgotPasswordPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'reset-password',
    validateSearch: (search: Record<string, unknown>) => ({ token: textOf(search, 'token') }),
    component: lazyRouteComponent(() => import('./password-pages.tsx'), 'ResetPasswordPage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'welcome',
    component: lazyRouteComponent(() => import('./welcome-page.tsx'), 'WelcomePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'invitations',
    component: lazyRouteComponent(() => import('./welcome-page.tsx'), 'WelcomePage'),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: 'device',
    component: lazyRouteComponent(() => import('./device-page.tsx'), 'DevicePage'),
  }),
] as const;

export const accountRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'account',
    component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
  }),
] as const;
