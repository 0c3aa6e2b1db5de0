import {
  findProblems,
  type HealthProblem,
  type HealthReadings,
  type RegionReading,
} from '../operator-health/index.ts';

/** Maps problems of the installation to incidents in words for tenants. Pure, so every sentence has a test. */

export type Component = 'api' | 'inference' | 'rentals' | 'volumes' | 'billing';
type Severity = 'degraded' | 'outage';

export interface Incident {
  /** Equal for the same incident in the next check. */
  readonly id: string;
  readonly title: string;
  readonly effect: string;
  readonly impact: Readonly<Partial<Record<Component, Severity>>>;
  /** Null: all regions. */
  readonly region: string | null;
}

type IncidentText = Omit<Incident, 'id' | 'region'>;

const incidents = {
  'api-unavailable': {
    title: 'The API and the console are not available',
    effect: 'Running machines continue. Models respond for a short time with credit that is already granted.',
    impact: {
      api: 'outage',
      inference: 'degraded',
      rentals: 'degraded',
      volumes: 'degraded',
      billing: 'degraded',
    },
  },
  'work-late': {
    title: 'Changes are processed late',
    effect:
      'Starting and ending machines, notifications and charges wait. Charges will have the same amounts.',
    impact: { api: 'degraded', rentals: 'degraded', volumes: 'degraded', billing: 'degraded' },
  },
  'notifications-late': {
    title: 'Events and webhooks are late',
    effect: 'They are sent when this has been repaired. None is lost.',
    impact: { api: 'degraded' },
  },
  'inference-unavailable': {
    title: 'Inference is not available',
    effect: 'Requests to models fail. Failed requests are not charged.',
    impact: { inference: 'outage' },
  },
  'inference-limited': {
    title: 'Inference may stop for some organisations',
    effect: 'Requests fail when the credit that is already granted to them is used up.',
    impact: { inference: 'degraded' },
  },
  'models-unavailable': {
    title: 'Some models do not respond',
    effect: 'Requests to these models fail and are not charged. Other models work.',
    impact: { inference: 'degraded' },
  },
  'rentals-slow': {
    title: 'Machines start and end slowly',
    effect: 'Running machines continue.',
    impact: { rentals: 'degraded' },
  },
  'changes-paused': {
    title: 'Changes are paused while records are checked',
    effect: 'Running machines continue. No machine is created or deleted, and models may stop responding.',
    impact: {
      api: 'degraded',
      inference: 'degraded',
      rentals: 'degraded',
      volumes: 'degraded',
      billing: 'degraded',
    },
  },
  'charges-checked': {
    title: 'Some charges are being checked',
    effect: 'Balances may be corrected. Machines and models are not affected.',
    impact: { billing: 'degraded' },
  },
} as const satisfies Readonly<Record<string, IncidentText>>;

type IncidentId = keyof typeof incidents;

export function findIncidents(readings: HealthReadings): readonly Incident[] {
  const ids = new Set(findProblems(readings).flatMap((problem) => incidentsOf(problem, readings)));
  const { regions = [], storageRegions = [] } = readings.fleet ?? {};
  return [
    ...[...ids].map((id): Incident => ({ id, region: null, ...incidents[id] })),
    ...regions.filter(({ silent }) => silent > 0).map(rentalsIncident),
    ...storageRegions.filter(({ silent }) => silent > 0).map(volumesIncident),
  ];
}

/** Problems that tenants cannot notice have no incident. */
function incidentsOf(problem: HealthProblem, readings: HealthReadings): readonly IncidentId[] {
  const { processes, fleet } = readings;
  const reporting = new Set(problem.reportedBy);
  const isEvery = (kind: 'api' | 'worker' | 'gateway'): boolean => {
    const all = processes.filter(({ name }) => kindOf(name) === kind);
    // A process that does not serve cannot take over.
    const isLost = all.every(({ name, status }) => reporting.has(name) || !isServing(status));
    return isLost && all.some(({ name }) => reporting.has(name));
  };
  const when = (condition: boolean, id: IncidentId): readonly IncidentId[] => (condition ? [id] : []);
  switch (problem.id) {
    case 'engine postgres':
      return [...when(isEvery('api'), 'api-unavailable'), ...when(isEvery('worker'), 'work-late')];
    case 'engine nats':
      return [
        ...when(isEvery('gateway'), 'inference-unavailable'),
        ...when(isEvery('worker'), 'notifications-late'),
      ];
    case 'engine valkey':
      return [
        ...when(isEvery('gateway'), 'inference-unavailable'),
        ...when(isEvery('worker'), 'inference-limited'),
      ];
    case 'engine restate registration':
      return when(isEvery('worker'), 'rentals-slow');
    case 'engines':
      return when(fleet?.hasModelWithoutEngine === true, 'models-unavailable');
    case 'restore':
      return ['changes-paused'];
    case 'audit':
      return ['charges-checked'];
    case 'outbox':
      return ['work-late'];
    case 'webhooks':
      return ['notifications-late'];
    default:
      if (problem.severity !== 'critical') return [];
      return [...when(isEvery('gateway'), 'inference-unavailable'), ...when(isEvery('worker'), 'work-late')];
  }
}

/** Processes are named `worker`, or `worker 1` if there are several. */
const kindOf = (name: string): string => name.split(/[ ._-]/)[0] ?? name;
const isServing = (status: string): boolean => status === 'ready' || status === 'degraded';

function rentalsIncident({ region, total, silent }: RegionReading): Incident {
  const isAll = silent === total;
  return {
    id: `rentals ${region}`,
    region,
    title: isAll ? `Rentals in ${region} cannot be changed` : `Some rentals in ${region} cannot be changed`,
    effect: 'Running machines continue. They cannot be started, stopped or deleted, and new ones may fail.',
    impact: { rentals: isAll ? 'outage' : 'degraded' },
  };
}

function volumesIncident({ region, total, silent }: RegionReading): Incident {
  const isAll = silent === total;
  return {
    id: `volumes ${region}`,
    region,
    title: isAll
      ? `Volumes in ${region} might not be available`
      : `Some volumes in ${region} might not be available`,
    effect: 'They cannot be created, attached or deleted. Stored data is kept.',
    impact: { volumes: isAll ? 'outage' : 'degraded' },
  };
}
