import type { Context } from '../framework/context.ts';
import type { Column } from '../framework/output.ts';
import { liveColumn } from '../money/mode.ts';
import { perHourText, relativeText, rentalStateText as stateOf, usdText } from '@millrace/sdk/text';
import type { Rental } from './find.ts';

export { rentalStateText as stateOf } from '@millrace/sdk/text';

const colors = {
  running: 'green',
  pending: 'cyan',
  switching: 'cyan',
  failed: 'red',
  unknown: 'yellow',
} as const;

export function paintState(context: Context, state: string): string {
  const format = colors[state.trim() as keyof typeof colors] as
    | (typeof colors)[keyof typeof colors]
    | undefined;
  return format === undefined ? state : context.io.paint(format, state);
}

export function rentalColumns(context: Context): readonly Column<Rental>[] {
  const now = context.clock.now().getTime();
  return [
    { name: 'id', value: ({ id }) => id, align: 'right' },
    { name: 'name', value: ({ name, label }) => name ?? label },
    { name: 'state', value: stateOf, paint: (text) => paintState(context, text) },
    { name: 'gpus', value: ({ gpuCount, gpuType }) => `${gpuCount} × ${gpuType}` },
    { name: 'region', value: ({ region }) => region },
    { name: 'type', value: ({ rentalType }) => rentalType },
    { name: 'price', value: ({ currentTerm }) => perHourText(currentTerm.costPerHour), align: 'right' },
    liveColumn(context, ({ liveCostPerHourNanoUsd }) => liveCostPerHourNanoUsd),
    { name: 'cost', value: ({ costSoFarNanoUsd }) => usdText(costSoFarNanoUsd), align: 'right' },
    { name: 'created', value: ({ createdAt }) => relativeText(createdAt, now) },
    { name: 'ends', value: (rental) => endText(rental, now), extra: true },
    { name: 'address', value: ({ ssh }) => ssh[0]?.host, extra: true },
    { name: 'tags', value: ({ tags }) => tagText(tags), extra: true },
  ];
}

export function endText({ expiresAt, currentTerm }: Rental, now: number): string {
  const end = currentTerm.reservedUntil ?? expiresAt;
  return end === null ? '' : relativeText(end, now);
}

export function tagText(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

export function rentalDetails(context: Context): readonly Column<Rental>[] {
  const now = context.clock.now().getTime();
  return [
    ...rentalColumns(context).filter(({ extra, name }) => extra !== true && name !== 'created'),
    { name: 'why', value: ({ statusReason }) => statusReason },
    { name: 'network', value: ({ connectionType }) => connectionType },
    { name: 'image', value: ({ image }) => image },
    { name: 'term', value: termText },
    { name: 'ends', value: (rental) => endText(rental, now) },
    {
      name: 'most',
      value: ({ maxUsd }) => (maxUsd === null ? '' : `terminated before it costs more than $${maxUsd}`),
    },
    { name: 'ssh', value: ({ ssh }) => ssh.map(({ command }) => command).join('; ') },
    {
      name: 'host key',
      value: ({ ssh }) => ssh.map(({ hostKeyFingerprint }) => hostKeyFingerprint ?? '').join('; '),
    },
    {
      name: 'ports',
      value: ({ ports }) =>
        ports
          .map(({ internalPort, host, externalPort }) => `${internalPort} at ${host}:${externalPort}`)
          .join(', '),
    },
    {
      name: 'volumes',
      value: ({ attachedStorage }) =>
        (attachedStorage ?? []).map(({ label, vip }) => `${label} at ${vip}`).join(', '),
    },
    { name: 'tags', value: ({ tags }) => tagText(tags) },
    {
      name: 'created',
      value: ({ createdAt, createdBy }) => `${relativeText(createdAt, now)} by ${createdBy.email}`,
    },
  ];
}

function termText({ currentTerm }: Rental): string {
  return currentTerm.termType === 'reserved'
    ? `reserved for ${currentTerm.termPeriodDays} days at ${currentTerm.discountPercentage} % off`
    : currentTerm.termType;
}
