import { useRouter } from '@tanstack/react-router';

/** Navigates to the page that required sign-in. The route has checked that the path is our own. */
export function useGoTo(): (next: string | undefined) => void {
  const { history } = useRouter();
  return (next) => history.push(next ?? '/console/');
}
