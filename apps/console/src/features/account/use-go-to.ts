import { useRouter } from '@tanstack/react-router';

/** Goes to where somebody wanted to before they had to sign in. Only paths of our own come here: the route checks it. */
export function useGoTo(): (next: string | undefined) => void {
  const { history } = useRouter();
  return (next) => history.push(next ?? '/console/');
}
