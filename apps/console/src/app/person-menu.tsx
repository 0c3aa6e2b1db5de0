import { Menu } from '@base-ui/react/menu';
import { Link } from '@tanstack/react-router';
import { Check, ChevronsUpDown } from 'lucide-react';
import { buttonClass } from '../ui/button.tsx';
import { usePerson, useSessionIfAny, type Session } from '../api/session.tsx';
import { applyTheme, storedTheme, type Theme } from './theme.ts';
import { LinkButton } from '../ui/link.tsx';
import { useSignOut } from './use-sign-out.ts';

const item =
  'data-[highlighted]:bg-raised flex w-full items-center justify-between gap-3 rounded px-2.5 py-1.5 outline-none select-none';

export function PersonMenu() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  if (session !== null) return <SignedInMenu session={session} />;
  if (person.state === 'in' && person.memberships.length === 0) {
    return (
      <Link to="/welcome" className={`${buttonClass('primary')} mx-2`}>
        Create organisation
      </Link>
    );
  }
  if (person.state !== 'out') return <div className="h-9" />;
  return (
    <div className="mx-2 grid grid-cols-2 gap-2">
      <LinkButton to="/sign-in">Sign in</LinkButton>
      <LinkButton to="/sign-up" kind="primary">
        Sign up
      </LinkButton>
    </div>
  );
}

const separator = <Menu.Separator className="bg-line my-1 h-px" />;
const check = <Check aria-hidden className="size-3.5" />;

const themes: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

function SignedInMenu({ session }: Readonly<{ session: Session }>) {
  const { me, memberships, place, go } = session;
  const signOut = useSignOut();
  return (
    <Menu.Root>
      <Menu.Trigger className="hover:bg-raised mx-2 flex w-[calc(100%-1rem)] items-center gap-2 rounded-md px-2 py-1.5 text-left">
        {/* Hidden prefix: the accessible name must contain the visible text. */}
        <span className="sr-only">Account and organisation: </span>
        <span
          aria-hidden
          className="bg-accent-soft text-accent-strong flex size-7 shrink-0 items-center justify-center rounded font-semibold"
        >
          {me.organisation.name.slice(0, 1).toUpperCase()}
        </span>
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{me.organisation.name}</span>
          <span className="text-soft block truncate text-xs">
            {place.mode === 'live' ? 'Live mode' : 'Test mode'} · {me.user.email}
          </span>
        </span>
        <ChevronsUpDown aria-hidden className="text-soft size-4" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="z-50">
          <Menu.Popup className="border-line bg-surface w-64 rounded-md border p-1 shadow-lg">
            <Menu.RadioGroup
              value={place.organisationId}
              onValueChange={(value: string) => go({ organisationId: value })}
            >
              <Menu.GroupLabel className="text-soft px-2.5 py-1 text-xs">Organisation</Menu.GroupLabel>
              {memberships.map(({ organisation, role }) => (
                <Menu.RadioItem key={organisation.id} value={organisation.id} className={item}>
                  <span className="min-w-0 truncate">{organisation.name}</span>
                  <span className="text-soft flex items-center gap-1 text-xs">
                    {role}
                    <Menu.RadioItemIndicator>{check}</Menu.RadioItemIndicator>
                  </span>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            {separator}
            <Menu.CheckboxItem
              checked={place.mode === 'test'}
              onCheckedChange={(on: boolean) => go({ mode: on ? 'test' : 'live' })}
              className={item}
            >
              Test mode
              <Menu.CheckboxItemIndicator>{check}</Menu.CheckboxItemIndicator>
            </Menu.CheckboxItem>
            {separator}
            <Menu.RadioGroup value={storedTheme()} onValueChange={(value: Theme) => applyTheme(value)}>
              <Menu.GroupLabel className="text-soft px-2.5 py-1 text-xs">Theme</Menu.GroupLabel>
              {themes.map(([theme, words]) => (
                <Menu.RadioItem key={theme} value={theme} className={item}>
                  {words}
                  <Menu.RadioItemIndicator>{check}</Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            {separator}
            <Menu.Item className={item} render={<Link to="/account" />}>
              Account and security
            </Menu.Item>
            <Menu.Item className={item} render={<a href="/status">Service status</a>} />
            <Menu.Item className={item} onClick={() => void signOut()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
