import { type ErrorComponentProps } from '@tanstack/react-router';
import { PageHeader } from '../ui/page.tsx';
import { Problem } from '../ui/states.tsx';
import { TextLink } from '../ui/link.tsx';

export function NotFound() {
  return (
    <main className="mx-auto max-w-xl px-4 py-10">
      <PageHeader title="Page not found" about="Check the address. The resource may have been deleted." />
      <TextLink to="/catalog">Go to the catalog</TextLink>
    </main>
  );
}

/** Shown when a page throws while rendering; the navigation stays usable. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  return (
    <div className="p-4">
      <Problem error={error} doing="show this page" retry={reset} />
    </div>
  );
}
