import { DEFAULT_PROFILE, type ProfileStore } from '../framework/profiles.ts';

/** Removes profiles. If the current one is removed, the user must choose another, whose key could spend money. */
export function removeProfiles(
  store: ProfileStore,
  names: readonly string[],
): { readonly removed: readonly string[]; readonly rest: ProfileStore } {
  const remaining = Object.entries(store.profiles).filter(([name]) => !names.includes(name));
  const current = remaining.length === 0 ? DEFAULT_PROFILE : store.current;
  return {
    removed: Object.keys(store.profiles).filter((name) => names.includes(name)),
    rest: { current, profiles: Object.fromEntries(remaining) },
  };
}
