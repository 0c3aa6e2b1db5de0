import { DEFAULT_PROFILE, type ProfileStore } from '../framework/profiles.ts';

/**
 * The book without these profiles. If the one in use was among them nobody is logged in: another key, which may be one that
 * spends money, is used when somebody says so and not because this one went.
 */
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
