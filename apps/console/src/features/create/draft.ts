import type { Input } from '@millrace/sdk';
import { parseUsd, parseDuration } from '@millrace/sdk/text';
import type { RentalSpec } from '../catalog/selection.ts';

/** Parses the text fields of the rent form into the API request. */

export type VirtualMachineRequest = Input<'createVirtualMachineRental'>;
export type BareMetalRequest = Input<'createBareMetalRental'>;

export type CreateRequest =
  | { readonly type: 'virtual-machine'; readonly body: VirtualMachineRequest }
  | { readonly type: 'bare-metal'; readonly body: BareMetalRequest };

export type VolumeChoice = 'none' | 'existing' | 'new';

export interface Draft {
  readonly name: string;
  /** Null: all of the user's keys. */
  readonly sshKeyIds: readonly string[] | null;
  readonly image: string;
  readonly cuda: '' | NonNullable<BareMetalRequest['cudaVersion']>;
  readonly volume: VolumeChoice;
  readonly volumeId: number | null;
  readonly volumeLabel: string;
  readonly volumeGb: string;
  readonly ttl: string;
  readonly maxUsd: string;
  readonly idleAfter: string;
  readonly idleAction: 'stop' | 'terminate';
  /** One per line: `team=vision`. */
  readonly tags: string;
  readonly ports: string;
  readonly userData: string;
  readonly monitoring: boolean;
  /** After a reserved term: continue on demand, or terminate. */
  readonly convert: boolean;
}

export function newDraft(name: string): Draft {
  return {
    name,
    sshKeyIds: null,
    image: '',
    cuda: '',
    volume: 'none',
    volumeId: null,
    volumeLabel: `${name}-data`,
    volumeGb: '256',
    ttl: '',
    maxUsd: '',
    idleAfter: '',
    idleAction: 'stop',
    tags: '',
    ports: '',
    userData: '',
    monitoring: true,
    convert: true,
  };
}

export type Field = keyof Draft;
export type Issues = Partial<Readonly<Record<Field, string>>>;

/** Validation issues by field, and the request from the valid fields. */
export interface ParsedDraft {
  readonly issues: Issues;
  readonly order: CreateRequest;
  /** TTL, for the quote. */
  readonly ttlSeconds: number | null;
  /** Size of the new volume, for the quote. */
  readonly newVolumeGb: number | null;
  readonly maxNanoUsd: bigint | null;
}

type ParsedField<Value> =
  | { readonly value: Value; readonly issue?: undefined }
  | { readonly value: null; readonly issue: string };

const MIN_TTL_SECONDS = 60;
const MIN_IDLE_SECONDS = 300;
const MAX_SECONDS = 315_360_000;
const MAX_IDLE_SECONDS = 31_536_000;

function parseDurationField(
  text: string,
  least: number,
  most: number,
  leastWords: string,
): ParsedField<number | null> {
  if (text.trim() === '') return { value: null };
  const seconds = parseDuration(text);
  if (seconds === null) return { value: null, issue: 'Enter a duration such as 90m, 8h or 3d.' };
  if (seconds < least) return { value: null, issue: `At least ${leastWords}.` };
  return seconds > most ? { value: null, issue: 'The duration is too long.' } : { value: seconds };
}

function parseAmount(text: string): ParsedField<bigint | null> {
  if (text.trim() === '') return { value: null };
  const nano = parseUsd(text);
  return nano === null || nano <= 0n
    ? { value: null, issue: 'Enter an amount in dollars, such as 20 or 12.50.' }
    : { value: nano };
}

const tagName = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,62}$/;
const MAX_TAGS = 50;

export function parseTagsField(text: string): ParsedField<Readonly<Record<string, string>>> {
  const tags: Record<string, string> = {};
  for (const line of text
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '')) {
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(0, at)).trim();
    const value = line.slice(at + 1).trim();
    if (!tagName.test(name))
      return { value: null, issue: `"${line}" is not a valid tag. Enter one per line, such as team=vision.` };
    if (value.length > 255)
      return { value: null, issue: `The value of ${name} is longer than 255 characters.` };
    if (Object.hasOwn(tags, name)) return { value: null, issue: `${name} appears twice.` };
    tags[name] = value;
  }
  return Object.keys(tags).length > MAX_TAGS
    ? { value: null, issue: `At most ${String(MAX_TAGS)} tags.` }
    : { value: tags };
}

const MAX_PORTS = 20;

export function parsePorts(text: string): ParsedField<readonly number[]> {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const ports = words.map((word) => (/^\d{1,5}$/.test(word) ? Number(word) : 0));
  const wrong = words[ports.findIndex((port) => port < 1 || port > 65_535)];
  if (wrong !== undefined)
    return { value: null, issue: `"${wrong}" is not a valid port. Enter numbers from 1 to 65535.` };
  return ports.length > MAX_PORTS
    ? { value: null, issue: `At most ${String(MAX_PORTS)} ports.` }
    : { value: [...new Set(ports)] };
}

const MAX_USER_DATA_CHARACTERS = 65_536;

function userDataIssue(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  if (text.length > MAX_USER_DATA_CHARACTERS) return 'Enter at most 65,536 characters.';
  return text.startsWith('#!') || /^#cloud-config\s/.test(text)
    ? undefined
    : 'Start with #! (a script that runs once as root) or with the line #cloud-config.';
}

function nameIssue(name: string): string | undefined {
  if (name.trim() === '') return 'Enter a name.';
  return name.trim().length > 255 ? 'At most 255 characters.' : undefined;
}

const MIN_VOLUME_GB = 256;
const MAX_VOLUME_GB = 64_000;
const volumeLabel = /^[A-Za-z0-9_-]{4,255}$/;

interface Volume {
  readonly issues: Issues;
  readonly storage: BareMetalRequest['storageVolume'];
}

function parseVolume(draft: Draft): Volume {
  if (draft.volume === 'none') return { issues: {}, storage: undefined };
  if (draft.volume === 'existing') {
    return draft.volumeId === null
      ? { issues: { volumeId: 'Choose a volume.' }, storage: undefined }
      : { issues: {}, storage: { isNew: false, id: draft.volumeId } };
  }
  const sizeInGb = /^\d{1,5}$/.test(draft.volumeGb.trim()) ? Number(draft.volumeGb) : 0;
  const isSize = sizeInGb >= MIN_VOLUME_GB && sizeInGb <= MAX_VOLUME_GB;
  const issues: Issues = {
    ...(!volumeLabel.test(draft.volumeLabel) && {
      volumeLabel: 'Enter at least four letters, digits, underscores or hyphens.',
    }),
    ...(!isSize && { volumeGb: 'Enter a whole number from 256 to 64,000.' }),
  };
  return { issues, storage: { isNew: true, label: draft.volumeLabel, sizeInGb } };
}

function issue(field: Field, text: string | undefined): Issues {
  return text === undefined ? {} : { [field]: text };
}

/** The nearest double; the service reads it as the same amount. */
function nanoToDollars(nano: bigint): number {
  const digits = nano.toString().padStart(10, '0');
  return Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`);
}

/** Why an idle rule is not possible; null if it is, or if this is not known yet. */
export function idleRuleDisabledReason(
  { type }: Pick<RentalSpec, 'type'>,
  idleRules: boolean | undefined,
): string | null {
  if (type === 'bare-metal')
    return 'Idle rules are not available for bare metal, because its GPU usage is not measured.';
  if (idleRules !== false) return null;
  return 'Idle rules are not available here, because these machines do not report how busy their GPUs are. Set a time to live or a spending limit instead.';
}

/** Reject an idle rule that was entered for another machine instead of dropping it: the user relies on it. */
export function idleRuleIssues({ idleAfter }: Pick<Draft, 'idleAfter'>, problem: string | null): Issues {
  return problem === null || idleAfter.trim() === ''
    ? {}
    : { idleAfter: 'Not available here. Clear the field.' };
}

export function parseDraft(draft: Draft, spec: RentalSpec): ParsedDraft {
  const isMetal = spec.type === 'bare-metal';
  const ttl = parseDurationField(draft.ttl, MIN_TTL_SECONDS, MAX_SECONDS, '1 minute');
  const idle = isMetal
    ? { value: null, issue: undefined }
    : parseDurationField(draft.idleAfter, MIN_IDLE_SECONDS, MAX_IDLE_SECONDS, '5 minutes');
  const most = parseAmount(draft.maxUsd);
  const tags = parseTagsField(draft.tags);
  const ports = isMetal ? { value: [] } : parsePorts(draft.ports);
  const volume = isMetal ? parseVolume(draft) : { issues: {}, storage: undefined };
  const image = draft.image.trim();
  const common = {
    name: draft.name.trim(),
    gpuCount: spec.count,
    gpuType: spec.gpu,
    networkType: spec.network,
    ...(draft.sshKeyIds !== null && { sshKeyIds: [...draft.sshKeyIds] }),
    ...(spec.days !== null && {
      termType: 'reserved' as const,
      termPeriodDays: spec.days,
      convertToOnDemandOnExpiry: draft.convert,
    }),
    ...(image !== '' && { image }),
    ...(ttl.value !== null && { ttlSeconds: ttl.value }),
    ...(most.value !== null && { maxUsd: nanoToDollars(most.value) }),
    ...(idle.value !== null && { idle: { afterSeconds: idle.value, action: draft.idleAction } }),
    ...(tags.value !== null && Object.keys(tags.value).length > 0 && { tags: tags.value }),
    ...(draft.userData.trim() !== '' && { userData: draft.userData }),
    // Engines of bare metal report no metrics.
    ...(draft.monitoring && !isMetal && { monitoringEnabled: true }),
  };
  const order: CreateRequest = isMetal
    ? {
        type: 'bare-metal',
        body: {
          ...common,
          region: spec.region as BareMetalRequest['region'],
          ...(draft.cuda !== '' && { cudaVersion: draft.cuda }),
          ...(volume.storage !== undefined && { storageVolume: volume.storage }),
        },
      }
    : {
        type: 'virtual-machine',
        body: {
          ...common,
          region: spec.region as VirtualMachineRequest['region'],
          ...(ports.value !== null && ports.value.length > 0 && { customPorts: [...ports.value] }),
        },
      };
  return {
    issues: {
      ...issue('name', nameIssue(draft.name)),
      ...issue('ttl', ttl.issue),
      ...issue('maxUsd', most.issue),
      ...issue('idleAfter', idle.issue),
      ...issue('tags', tags.issue),
      ...issue('ports', 'issue' in ports ? ports.issue : undefined),
      ...issue('userData', userDataIssue(draft.userData)),
      ...volume.issues,
    },
    order,
    ttlSeconds: ttl.value,
    newVolumeGb: volume.storage?.isNew === true ? volume.storage.sizeInGb : null,
    maxNanoUsd: most.value,
  };
}
