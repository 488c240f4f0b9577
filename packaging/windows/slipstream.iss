; Installs Slipstream on Windows. Compiled by Inno Setup 6.3 or newer, out of dist\slipstream:
;   iscc /DVersion=0.1.0 packaging\windows\slipstream.iss        (run by packaging\bundle.py on Windows)
; Not run on Windows yet. Checked: that the files it takes are those that packaging/slipstream.spec makes, and that its
; names agree with the app's (tests/unit/packaging/test_recipes.py).
;
; Installs into the user's own folder, without an administrator; an installation for all users asks for one (or takes
; /ALLUSERS). A newer version is installed over an older one. The user's data (chats, models, what was learned) is in
; %LOCALAPPDATA%\slipstream, which installing and removing do not touch.
;
; No vcomp140.dll is needed: llama.cpp is built with GGML_OPENMP=OFF. PyInstaller includes the Visual C++ runtime.

#ifndef Version
  #error Tell the version: iscc /DVersion=0.1.0
#endif

[Setup]
AppId={{6B0C2D1E-52B0-4E0B-9B0F-5E4B1D6C8A37}
AppName=Slipstream
AppVersion={#Version}
AppPublisher=Slipstream
VersionInfoVersion={#Version}
DefaultDirName={autopf}\Slipstream
DefaultGroupName=Slipstream
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog commandline
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
MinVersion=10.0.17763
; Held by the app while it runs (packaging/entry.py): installing asks to close it first.
AppMutex=SlipstreamIsRunning
CloseApplications=yes
ChangesAssociations=yes
SourceDir=..\..
OutputDir=dist
OutputBaseFilename=Slipstream-{#Version}-windows-x64
SetupIconFile=build\icons\slipstream.ico
UninstallDisplayIcon={app}\slipstream.exe
WizardStyle=modern
Compression=lzma2
SolidCompression=yes

[Tasks]
Name: "desktopicon"; Description: "{cm:CreateDesktopIcon}"; Flags: unchecked
Name: "openmodels"; Description: "Offer Slipstream for model files (.gguf)"

[InstallDelete]
; Of an older version: the newer one would still find files that it no longer has.
Type: filesandordirs; Name: "{app}\_internal"

[Files]
Source: "dist\slipstream\slipstream.exe"; DestDir: "{app}"; Flags: ignoreversion
Source: "dist\slipstream\slipstream-cli.exe"; DestDir: "{app}"; Flags: ignoreversion
Source: "dist\slipstream\*"; DestDir: "{app}"; Excludes: "\slipstream.exe,\slipstream-cli.exe"; Flags: ignoreversion recursesubdirs createallsubdirs

[Icons]
Name: "{group}\Slipstream"; Filename: "{app}\slipstream.exe"; AppUserModelID: "app.slipstream.Slipstream"
Name: "{autodesktop}\Slipstream"; Filename: "{app}\slipstream.exe"; AppUserModelID: "app.slipstream.Slipstream"; Tasks: desktopicon

[Registry]
; Profiles are ours; model files stay with what opens them now, and list Slipstream beside it.
Root: HKA; Subkey: "Software\Classes\.slipstream"; ValueType: string; ValueData: "Slipstream.Profile"; Flags: uninsdeletevalue
Root: HKA; Subkey: "Software\Classes\Slipstream.Profile"; ValueType: string; ValueData: "Slipstream profile"; Flags: uninsdeletekey
Root: HKA; Subkey: "Software\Classes\Slipstream.Profile\DefaultIcon"; ValueType: string; ValueData: "{app}\slipstream.exe,0"
Root: HKA; Subkey: "Software\Classes\Slipstream.Profile\shell\open\command"; ValueType: string; ValueData: """{app}\slipstream.exe"" ""%1"""
Root: HKA; Subkey: "Software\Classes\.gguf\OpenWithProgids"; ValueType: string; ValueName: "Slipstream.Model"; ValueData: ""; Flags: uninsdeletevalue; Tasks: openmodels
Root: HKA; Subkey: "Software\Classes\Slipstream.Model"; ValueType: string; ValueData: "Language model"; Flags: uninsdeletekey; Tasks: openmodels
Root: HKA; Subkey: "Software\Classes\Slipstream.Model\DefaultIcon"; ValueType: string; ValueData: "{app}\slipstream.exe,0"; Tasks: openmodels
Root: HKA; Subkey: "Software\Classes\Slipstream.Model\shell\open\command"; ValueType: string; ValueData: """{app}\slipstream.exe"" ""%1"""; Tasks: openmodels

[Run]
Filename: "{app}\slipstream.exe"; Description: "{cm:LaunchProgram,Slipstream}"; Flags: nowait postinstall skipifsilent
