import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { insideRoute } from '../../app/root-routes.tsx';

export interface AuditSearch {
  readonly action?: string;
  readonly actor?: string;
  readonly resource?: string;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 100 ? value : undefined;
}

export const auditRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'audit',
    validateSearch: (search: Record<string, unknown>): AuditSearch => {
      const [action, actor, resource] = ['action', 'actor', 'resource'].map((name) => textOf(search[name]));
      return {
        ...(action === undefined ? {} : { action }),
        ...(actor === undefined ? {} : { actor }),
        ...(resource === undefined ? {} : { resource }),
      };
    },
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
] as const;
