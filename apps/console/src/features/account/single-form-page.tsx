import { Link } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { Logo } from '../../ui/logo.tsx';
import { setPageTitle } from '../../ui/logic/page-title.ts';

/** Page with one form and no navigation, such as sign-in. */
export function SingleFormPage({
  title,
  about,
  children,
  below,
}: Readonly<{ title: string; about?: ReactNode; children: ReactNode; below?: ReactNode }>) {
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 py-10 sm:justify-center">
      <Link to="/" className="mb-6 flex items-center gap-2 text-lg font-semibold">
        <Logo /> Millrace
      </Link>
      <main className="border-line bg-surface w-full max-w-sm rounded-lg border p-6">
        <h1>{title}</h1>
        {about !== undefined && <div className="text-soft mt-1">{about}</div>}
        <div className="mt-5">{children}</div>
      </main>
      {below !== undefined && <div className="text-soft mt-4 text-center">{below}</div>}
    </div>
  );
}
