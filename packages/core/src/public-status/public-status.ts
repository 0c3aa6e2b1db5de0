import type { PlannedMaintenance } from '../fleet/index.ts';
import type { Component, Incident } from './incidents.ts';

/** Builds the status that everyone may read from incidents, regions and maintenance. Pure. */

export type ComponentState = 'operational' | 'degraded' | 'outage' | 'maintenance' | 'unknown';

interface ComponentStatus {
  readonly component: Component;
  readonly name: string;
  /** Null: all regions. */
  readonly region: string | null;
  readonly state: ComponentState;
}

export interface PublicStatus {
  readonly state: ComponentState;
  readonly title: string;
  readonly components: readonly ComponentStatus[];
  readonly incidents: readonly {
    readonly title: string;
    readonly effect: string;
    readonly since: string;
  }[];
  readonly maintenance: readonly {
    readonly regions: readonly string[];
    readonly startsAt: string;
    readonly endsAt: string;
    readonly inProgress: boolean;
  }[];
  /** A text that the operator wrote. */
  readonly notice: string | null;
  /** Null: no check has finished. */
  readonly checkedAt: string | null;
  /** The last check that could read everything; regions and maintenance are of this time. */
  readonly completeCheckAt: string | null;
}

export interface OpenIncident extends Incident {
  readonly since: Date;
}

export interface StatusFacts {
  readonly incidents: readonly OpenIncident[];
  readonly regions: readonly string[];
  readonly maintenance: readonly PlannedMaintenance[];
  readonly notice: string | null;
  readonly checkedAt: Date | null;
  readonly completeCheckAt: Date | null;
  /** Whether the last check is so old that it says nothing about now. */
  readonly isOld: boolean;
}

const names: Readonly<Record<Component, string>> = {
  api: 'API and console',
  inference: 'Inference',
  rentals: 'Rentals',
  volumes: 'Volumes',
  billing: 'Billing',
};

const titles: Readonly<Record<ComponentState, string>> = {
  operational: 'All services work',
  maintenance: 'Maintenance is in progress',
  degraded: 'Some services are limited',
  outage: 'Some services are not available',
  unknown: 'The status is not known',
};

/** The later one is shown if several apply. */
const ranks: readonly ComponentState[] = ['operational', 'maintenance', 'degraded', 'outage', 'unknown'];
const worstOf = (states: readonly ComponentState[]): ComponentState =>
  states.reduce((worst, each) => (ranks.indexOf(each) > ranks.indexOf(worst) ? each : worst), 'operational');

export function publicStatus(facts: StatusFacts): PublicStatus {
  const { checkedAt, completeCheckAt, notice } = facts;
  const isKnown = checkedAt !== null && !facts.isOld;
  const maintenance = facts.maintenance.map(({ regions, startsAt, endsAt }) => ({
    regions,
    startsAt: startsAt.toISOString(),
    endsAt: endsAt.toISOString(),
    inProgress: checkedAt !== null && startsAt <= checkedAt && checkedAt < endsAt,
  }));
  const inMaintenance = new Set(
    maintenance.flatMap(({ regions, inProgress }) => (inProgress ? regions : [])),
  );
  // Machines of a region in maintenance are expected not to respond. Storage nodes are never in a window.
  const incidents = facts.incidents.filter(
    ({ region, impact }) => region === null || impact.rentals === undefined || !inMaintenance.has(region),
  );
  const statusOf = (component: Component, region: string | null): ComponentStatus => {
    const affecting = incidents.filter(
      (incident) => region === null || incident.region === null || incident.region === region,
    );
    const states = affecting.flatMap(({ impact }) => impact[component] ?? []);
    const planned = component === 'rentals' && region !== null && inMaintenance.has(region);
    const state = worstOf([...states, ...(planned ? (['maintenance'] as const) : [])]);
    return { component, name: names[component], region, state: isKnown ? state : 'unknown' };
  };
  const regions = facts.regions.length === 0 ? [null] : facts.regions;
  const components = [
    statusOf('api', null),
    statusOf('inference', null),
    ...regions.map((region) => statusOf('rentals', region)),
    statusOf('volumes', null),
    statusOf('billing', null),
  ];
  const state = worstOf(components.map((each) => each.state));
  return {
    state,
    title: titles[state],
    components,
    incidents: incidents.map(({ title, effect, since }) => ({ title, effect, since: since.toISOString() })),
    maintenance,
    notice,
    checkedAt: checkedAt?.toISOString() ?? null,
    completeCheckAt: completeCheckAt?.toISOString() ?? null,
  };
}
