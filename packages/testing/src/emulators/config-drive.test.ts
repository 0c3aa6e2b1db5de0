import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readConfigDrive } from './config-drive.ts';

/** Made by `mkisofs -J -r -V config-2`, compressed, in base64, as Ironic passes it to the deploy agent. */
const image = [
  'H4sICEMb+moCA2NkLmlzbwDt3X1vFMcdAOBZR00JISQiL6oiEpbDSElU7LMJJG6lSpfz2t7k3nR3jkBJZRlzvMTmDmFTUqWp',
  'yl9N/+knqvqNon6EdvbODm+GQwVhA8+z+HZ2ZnZmvF7pt3Pc7oUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACTV',
  '+XJ5Jgm1vLF8Ln24tUH/0tXLp2YfVr7T3r/uWT2i3/iv+AkHDoRPRlmfvHOn+L3ipRSOjraOhgPF6kD46+tvvnP6zTCxs3+6',
  'x75PX26LWSPvNPN6ZTFLYyKdO3u2PL200EkX8lrWOd/pZvW02s4q3WY7/aj6cTozN3c6zabON5cbi/OVWraT+dmp2XL5bPrl',
  'VCurtDvNxvSXU53qUl6LZ+XisE5RXNT5LK3Ot7/Ku2k3q9Sf+a87W549OzMzc2a2fCa+lsvhgYzyfR6ssfcnLXtL0GHfmNiO',
  '/6EW8tAIy+FcSHdd1sIg9MOlcDVcDqfC7APl98X/k9PZY8f/z0dZn//mTvH7o/h/bLR17GHx/yFjfXbL93s+gr1dFkMWz5o8',
  'dEIzvtZDZZiTbuekYS6cjUs5rISlsBDz0viax3Mti+nz8acbU/WYWw3tmKrE7WZMpeGjmPNxXM/EFubC6ZjKwlTcoxnP0Ebs',
  'Yz7WrQ17Gr88vUriP+I/L5D/7sR/AAAA4IWVDP+PvZj/vxY+GKYG13v9za3VtfXwavgw5kyEjdWt3uaWYwUAAADP7/w/FJ+v',
  'T4r5f/RBSO6e/0cfhgnzfwAAAHje5//Htt8FODK8iS+mBuF66IV+2AxbYTWshfVD4XgoPgcQNuL2ViwrSgAAAIDnaP4fiufr',
  'JMX8PxRPQUl2m/9Hx4sbAcz/AQAA4Hn009hn7Hdav07+/Z/Qbv8qud06N5lcqxT1KtdeGe33yv0tdhfeTw5vN3LvqpodTUqj',
  'SqWd2j9vry6NG0fyFAYQ/jJ8xkEo7nPYtZfXfrn5oejtH4364bueh/CEfQPA/nFpTERMnkbgD88muv9p+LyiUNyzuGsvr27f',
  'yLgd219Ptp9sdHe3E6MWJgR2AF7s+P/omLlL/P8/QuTYq4ynEv9/CidGdU5cGK0v3AnRRS9vXettra5cXN1anfpuc9D//czO',
  'lcDbSbi3qBjI5O1iv9uT29+NkDz+QP4ZJkdVJt8Yrd+4dxxv93tbtwY31u8eyvZI3kvCA4VPNpjwt3ByVOfku6P1u/eO5tDN',
  'zd6NUW93jsjhJPyS/YT9A7Afjf+OvbE1kk93vv4v3b3GkQc/UujAA8Cexv9Hx+7Hif9Tw+cDhOIegV1rHHLjAADss/j/6Nid',
  'jL9CSP4w5n33o+FajP3FzH8lXBxeCayGqfBdvBoYhH6YH/NueSnWKfa+FWvfCOu7tvHpmPe4j4SbsWYv7n9nbwB4eWXtn5OD',
  '3b8n7XbeWpmZm5updJeytN2sfpW28/nFLM0b3axdXao0YrrVbnab1WatSHydz2edtLPcajXb3XSh2U5bzU5+Ll3Ia1naOd/p',
  'ZvW0k9UrjW5e7bRqWaWTpdVmo1updtP5vFNNW8tf1PLOUtYe7txpZdV8Ia9WunmzkXaay+1qNpXGFrK7KsYuY3MLeZFsxEHk',
  '9Ur7fPp1s7Zcz9I4nGr8JbrNUYM7feWNuFUfNjvlzw0AQz+Urgw2t/qr13ql36Wly9dvniqXfpuWrt+8sHF1bWW99+fNmP9D',
  'abUo3dy8cqp3cfbMmZm5tBKlg37v235R/cL9xV9E6datQenHHx1jANh/8X/jan+9CPLf/FGoBoCXw4nj0xeu9qc3rxzsrV0Z',
  'pFd6GxuDgw4LAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAD7zP8AEIAQRwDgBQA=',
].join('');

test('readConfigDrive reads a config drive that Ironic wrote', () => {
  expect(readConfigDrive(image)).toEqual({
    hostname: 'gpu-0',
    sshKeys: ['ssh-ed25519 AAAA one', 'ssh-ed25519 BBBB two'],
    userData: '#!/bin/sh\necho hello\n',
    networkData: { links: [] },
    hostKey: null,
  });
});

test('readConfigDrive throws for other data', () => {
  const nonsense = gzipSync(Buffer.alloc(100_000)).toString('base64');
  expect(() => readConfigDrive(nonsense)).toThrow('not an ISO 9660 image');
});
