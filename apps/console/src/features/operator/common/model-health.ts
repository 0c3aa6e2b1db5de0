import type { Item } from '@millrace/sdk';

type Deployment = Item<'adminListDeployments'>;

export function modelHealth(deployments: readonly Pick<Deployment, 'enabled' | 'health' | 'weight'>[]): {
  readonly tone: 'good' | 'warn' | 'bad' | 'plain';
  readonly words: string;
} {
  const used = deployments.filter(({ enabled, weight }) => enabled && weight > 0);
  if (used.length === 0) {
    return deployments.length === 0
      ? { tone: 'bad', words: 'no deployment' }
      : { tone: 'bad', words: 'all deployments are off' };
  }
  const healthy = used.filter(({ health }) => health === 'healthy').length;
  const down = used.filter(({ health }) => health === 'down').length;
  const words = `${String(healthy)} of ${String(used.length)} healthy`;
  if (healthy === used.length) return { tone: 'good', words };
  return { tone: down === used.length ? 'bad' : 'warn', words };
}
