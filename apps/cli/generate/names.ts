/** Derives command names and flags from the names of the client. */

/** Nouns whose command name is not their singular. */
const nouns: Readonly<Record<string, string>> = {
  organisations: 'org',
  topUps: 'topup',
  marketplace: 'market',
  images: 'image',
  audio: 'speech',
  completions: 'complete',
  options: 'offers',
  maintenanceWindows: 'maintenance',
  reservationRequests: 'reservation',
  models: 'models',
  events: 'events',
  limits: 'limits',
  earnings: 'earnings',
};

/** Under admin and supplier, all nouns are singular. */
const nestedNouns: Readonly<Record<string, string>> = { ...nouns, models: 'model' };

function kebab(word: string): string {
  return word.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}

function nounOf(word: string, isNested: boolean): string {
  return (isNested ? nestedNouns : nouns)[word] ?? kebab(word).replace(/s$/, '');
}

/** `listDeliveries` becomes `deliveries`, `getRequest` becomes `request`; `list` and `get` alone stay. */
function verbOf(word: string): string {
  return kebab(word.replace(/^(?:list|get)(?=[A-Z])/, ''));
}

/** `['admin', 'nodes', 'listTransitions']` becomes `admin node transitions`. */
export function commandName(path: readonly string[]): string {
  const words = path.slice(0, -1).map((word, index) => nounOf(word, index > 0));
  const verb = verbOf(path.at(-1) ?? '');
  return [...words, verb].join(' ');
}

/** `pricePerGpuHourNanoUsd` becomes `--price-per-gpu-hour-usd`. */
export function flagName(key: string): string {
  return kebab(key.replaceAll('_', '-').replace(/NanoUsd$/, 'Usd'));
}

export type Namespaces = { readonly [word: string]: string | Namespaces };

/** All operations with their command names. */
export function* commandNamesByOperation(
  namespaces: Namespaces,
  path: readonly string[] = [],
): Generator<{ readonly operation: string; readonly path: readonly string[] }> {
  for (const [word, value] of Object.entries(namespaces)) {
    if (typeof value === 'string') yield { operation: value, path: [...path, word] };
    else yield* commandNamesByOperation(value, [...path, word]);
  }
}

/** A noun whose only verb is `get` needs no verb: `supplier earnings`. */
export function dropSoleGetVerb(names: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const all = [...names.values()];
  return new Map(
    [...names].map(([operation, name]) => {
      const noun = name.replace(/ get$/, '');
      const isLone =
        name.endsWith(' get') && all.filter((other) => other.startsWith(`${noun} `)).length === 1;
      return [operation, isLone && noun.includes(' ') ? noun : name];
    }),
  );
}
