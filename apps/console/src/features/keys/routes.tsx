import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';

export const keyRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'keys',
    validateSearch: ({ show }: Record<string, unknown>): { show?: 'all' } => (show === 'all' ? { show } : {}),
    component: lazyRouteComponent(() => import('./keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'ssh-keys',
    component: lazyRouteComponent(() => import('./ssh-keys-page.tsx'), 'SshKeysPage'),
  }),
] as const;
