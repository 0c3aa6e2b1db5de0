import { useRouter } from '@tanstack/react-router';

/** Path in the browser of a page that required sign-in; without one, of the overview. */
export function consolePath(next: string | undefined): string {
  if (next === undefined) return '/console/overview';
  return next.startsWith('/console/') ? next : `/console${next}`;
}

/** Navigates to the page that required sign-in. The route has checked that the path is our own. */
export function useGoTo(): (next: string | undefined) => void {
  const { history } = useRouter();
  return (next) => history.push(consolePath(next));
}
