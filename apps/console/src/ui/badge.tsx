import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

const toneClasses: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  plain: 'bg-raised text-soft',
};

export function Badge({ tone = 'plain', children }: Readonly<{ tone?: Tone; children: ReactNode }>) {
  return (
    <span
      className={`inline-flex items-center rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${toneClasses[tone]}`}
    >
      {children}
    </span>
  );
}

/** Badge colours by status: running green, changing blue, uncertain amber, failed red. */
const tones: Readonly<Record<string, Tone>> = {
  running: 'good',
  active: 'good',
  online: 'good',
  node_ready: 'good',
  succeeded: 'good',
  delivered: 'good',
  paid: 'good',
  approved: 'good',
  accepted: 'good',
  pending: 'info',
  creating: 'info',
  starting: 'info',
  changing: 'info',
  stopping: 'info',
  terminating: 'info',
  node_registering: 'info',
  applied: 'info',
  unknown: 'warn',
  offline: 'warn',
  inactive: 'warn',
  node_draining: 'warn',
  node_offline: 'warn',
  suspended: 'bad',
  disabled: 'bad',
  failed: 'bad',
  node_quarantined: 'bad',
  revoked: 'bad',
  expired: 'bad',
};

export function StateBadge({ state }: Readonly<{ state: string }>) {
  const words = state.replace(/^node_/, '').replaceAll('_', ' ');
  return <Badge tone={tones[state.toLowerCase()] ?? 'plain'}>{words}</Badge>;
}
