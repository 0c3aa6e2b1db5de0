import { type ErrorComponentProps } from '@tanstack/react-router';
import { PageHeader } from '../ui/page.tsx';
import { Problem } from '../ui/states.tsx';
import { TextLink } from '../ui/link.tsx';

export function NotFound() {
  return (
    <main className="mx-auto max-w-xl px-4 py-10">
      <PageHeader
        title="There is no such page"
        about="The address may be mistyped, or what it showed is gone."
      />
      <TextLink to="/">To what can be rented</TextLink>
    </main>
  );
}

/** A page that broke while it was drawn. The rest of the console goes on. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  return (
    <div className="p-4">
      <Problem error={error} doing="show this page" retry={reset} />
    </div>
  );
}
