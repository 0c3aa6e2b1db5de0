import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/** Opens the page's form for a link that ends in `#create`, then removes it, so that a reload does not open it again. */
export function useCreateHash(open: () => void): void {
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const latest = useRef(open);
  useEffect(() => {
    latest.current = open;
  });
  useEffect(() => {
    if (hash !== 'create') return;
    latest.current();
    void navigate({ to: '.', search: true, hash: '', replace: true });
  }, [hash, navigate]);
}
