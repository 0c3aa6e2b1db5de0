import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

const line = { fill: 'none', stroke: 'currentColor', strokeWidth: 2, strokeLinecap: 'round' } as const;

/** One silhouette per tone: disc, open ring, triangle, cross, square. */
const shapes: Readonly<Record<Tone, ReactNode>> = {
  good: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  info: <path d="M10 6a4 4 0 1 1-4-4" {...line} />,
  warn: <path d="M6 1.2 11.4 10.8H.6Z" fill="currentColor" />,
  bad: <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" {...line} />,
  plain: <rect x="2.25" y="2.25" width="7.5" height="7.5" rx="1" {...line} strokeWidth="1.5" />,
};

/** Status by shape, in the colour of the text around it. Always put a word beside it. */
export function StatusShape({ tone }: Readonly<{ tone: Tone }>) {
  return (
    <svg viewBox="0 0 12 12" aria-hidden className="size-2.5 shrink-0">
      {shapes[tone]}
    </svg>
  );
}

const toneClasses: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  plain: 'bg-raised text-soft',
};

interface BadgeProps {
  /** Without a tone, the badge is a label and not a status. */
  readonly tone?: Tone;
  /** False for a label that has a colour. */
  readonly shape?: boolean;
  readonly children: ReactNode;
}

/** Short status. Each tone has a colour and a shape, because some users do not see the colours. */
export function Badge({ tone, shape = tone !== undefined, children }: BadgeProps) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-sm px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${toneClasses[tone ?? 'plain']}`}
    >
      {shape && <StatusShape tone={tone ?? 'plain'} />}
      {children}
    </span>
  );
}

/** Badge tones by status: running green, changing blue, uncertain amber, failed red. */
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
  switching: 'info',
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
