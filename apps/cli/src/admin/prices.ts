import { UsageError } from '../framework/errors.ts';
import type { Column } from '../framework/output.ts';
import type { Input, Item } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';
import { timestampText } from '../text/timestamps.ts';

export type Price = Item<'adminListPrices'>;
type Subject = Input<'adminCreatePrice'>['subject'];
type Unit = Input<'adminCreatePrice'>['unit'];

/** Describes a subject: `h100 virtual-machine in eu-west-1`. */
export function subjectText(subject: Price['subject']): string {
  switch (subject.kind) {
    case 'gpu': {
      const network = subject.networkType == null ? '' : ` on ${subject.networkType}`;
      return `${subject.gpuType} ${subject.machineType} ${regionText(subject.region)}${network}`;
    }
    case 'volume':
      return `volumes ${regionText(subject.region)}`;
    case 'disk':
      return `disks of stopped rentals ${regionText(subject.region)}`;
    case 'model':
      return `${subject.model}, ${subject.unit.replaceAll('_', ' ')}s`;
  }
}

function regionText(region: string | null): string {
  return region === null ? 'in all regions' : `in ${region}`;
}

export const priceColumns: readonly Column<Price>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'for', value: ({ organisationId }) => organisationId ?? 'everybody' },
  { name: 'what', value: ({ subject }) => subjectText(subject) },
  { name: 'price', align: 'right', value: ({ priceNanoUsd }) => usdText(priceNanoUsd) },
  { name: 'unit', value: ({ unit }) => `per ${unit.replaceAll('_', ' ')}` },
  { name: 'from', value: ({ validFrom }) => timestampText(validFrom) },
  { name: 'until', value: ({ validUntil }) => (validUntil === null ? undefined : timestampText(validUntil)) },
];

export interface SubjectFlags {
  readonly gpu: string | undefined;
  readonly 'machine-type': 'virtual-machine' | 'bare-metal';
  readonly network: 'infiniband' | 'ethernet' | undefined;
  readonly volume: boolean | undefined;
  readonly disk: boolean | undefined;
  readonly model: string | undefined;
  readonly 'model-unit': 'prompt_token' | 'cached_prompt_token' | 'completion_token' | 'image' | 'character';
  readonly region: string | undefined;
}

/** The subject of a price: exactly one of a GPU, volumes, disks and a model. */
export function parsePriceSubject(flags: SubjectFlags): Subject {
  const region = flags.region ?? null;
  const wanted: readonly (Subject | null)[] = [
    flags.gpu === undefined
      ? null
      : {
          kind: 'gpu',
          gpuType: flags.gpu,
          machineType: flags['machine-type'],
          region,
          networkType: flags.network,
        },
    flags.volume === true ? { kind: 'volume', region } : null,
    flags.disk === true ? { kind: 'disk', region } : null,
    flags.model === undefined ? null : { kind: 'model', model: flags.model, unit: flags['model-unit'] },
  ];
  const [subject, ...others] = wanted.filter((each) => each !== null);
  if (subject === undefined || others.length > 0) {
    throw new UsageError('Use exactly one of --gpu, --volume, --disk and --model.');
  }
  return subject;
}

/** A token costs less than a nano-USD, so tokens are priced per million. */
export function priceUnit(subject: Subject): Unit {
  switch (subject.kind) {
    case 'gpu':
      return 'gpu_hour';
    case 'volume':
    case 'disk':
      return 'gb_hour';
    case 'model':
      return subject.unit === 'image' || subject.unit === 'character' ? subject.unit : 'million_tokens';
  }
}
