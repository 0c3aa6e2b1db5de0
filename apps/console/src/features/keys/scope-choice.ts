import { scopeNames, type Scope } from '@millrace/contract/scopes';

/** Groups scopes for the key form and defines common presets. */

export interface ScopeGroup {
  readonly label: string;
  readonly scopes: readonly Scope[];
}

const areas: readonly (readonly [label: string, prefixes: readonly string[]])[] = [
  ['Machines and storage', ['catalog', 'rentals', 'volumes', 'marketplace']],
  ['Inference', ['inference', 'usage']],
  ['Money', ['billing']],
  ['Events and webhooks', ['events', 'webhooks', 'operations', 'notices']],
  ['Organisation', ['organisation', 'members', 'api-keys', 'ssh-keys', 'audit']],
  ['Supplier', ['supplier']],
  ['Operator', ['admin']],
];

const prefixOf = (scope: string): string => scope.split(':', 1)[0] ?? '';

/** Every scope is in exactly one group; ungrouped scopes are in the last one. */
export const scopeGroups: readonly ScopeGroup[] = (() => {
  const known = new Set(areas.flatMap(([, prefixes]) => prefixes));
  const groups = areas.map(([label, prefixes]) => ({
    label,
    scopes: scopeNames.filter((scope) => prefixes.includes(prefixOf(scope))),
  }));
  const rest = scopeNames.filter((scope) => !known.has(prefixOf(scope)));
  return rest.length === 0 ? groups : [...groups, { label: 'Other', scopes: rest }];
})();

export interface Preset {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly scopes: readonly Scope[];
}

const inference: readonly Scope[] = ['inference:read', 'inference:write'];
const pipeline: readonly Scope[] = [
  'catalog:read',
  'rentals:read',
  'rentals:write',
  'volumes:read',
  'ssh-keys:read',
  'events:read',
  'operations:read',
];

/** Limits each preset to the scopes of the user, since a key cannot have more. */
export function presetsFor(may: (scope: Scope) => boolean): readonly Preset[] {
  const own = scopeNames.filter(may);
  return [
    {
      id: 'inference',
      label: 'Inference only',
      about: 'Call models.',
      scopes: inference.filter(may),
    },
    {
      id: 'ci',
      label: 'CI: rentals',
      about: 'Rent, monitor and terminate machines.',
      scopes: pipeline.filter(may),
    },
    {
      id: 'read',
      label: 'Read only',
      about: 'Read everything you can see, change nothing.',
      scopes: own.filter((scope) => scope.endsWith(':read')),
    },
    { id: 'all', label: 'Full access', about: 'All permissions of your role.', scopes: own },
  ];
}

export function sameScopes(one: ReadonlySet<string>, other: readonly string[]): boolean {
  return one.size === other.length && other.every((scope) => one.has(scope));
}

export function scopesText(scopes: readonly string[], may: (scope: Scope) => boolean): string {
  const chosen = new Set(scopes);
  const preset = presetsFor(may).find((each) => each.scopes.length > 0 && sameScopes(chosen, each.scopes));
  if (preset !== undefined && preset.id !== 'all') return preset.label;
  return scopes.length > 4
    ? `${scopes.slice(0, 3).join(', ')} and ${String(scopes.length - 3)} more`
    : scopes.join(', ');
}
