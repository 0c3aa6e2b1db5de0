import { DEFAULT_PROFILE, type ProfileStore } from '../framework/profiles.ts';

/**
 * The book without these profiles. If the one in use was among them nobody is logged in: another key, which may be one that
 * spends money, is used when somebody says so and not because this one went.
 */
export function removeProfiles(
  book: ProfileStore,
  names: readonly string[],
): { readonly forgotten: readonly string[]; readonly rest: ProfileStore } {
  const kept = Object.entries(book.profiles).filter(([name]) => !names.includes(name));
  const current = kept.length === 0 ? DEFAULT_PROFILE : book.current;
  return {
    forgotten: Object.keys(book.profiles).filter((name) => names.includes(name)),
    rest: { current, profiles: Object.fromEntries(kept) },
  };
}
